"""The door of the model: tools and results in the forms that models' programming interfaces take.

Everything here is a pure function of messages that a server sent; nothing is fetched, and no SDK is imported.
The forms are plain dictionaries, typed by `TypedDict` classes of this package; each SDK takes them as they are.

| format | a tool's definition is for | a result is |
| --- | --- | --- |
| `anthropic` | `tools` of the Messages API | a block `tool_result` |
| `openai` | `tools` of the Responses API | an item `function_call_output` |
| `openai-chat` | `tools` of Chat Completions | a message of the role `tool` |
| `gemini` | `tools` of the Gemini API | a part `function_response` |
| `mcp` | the result of `tools/list` | the result of `tools/call` |
| `json` | programs: all that there is to know | not there |
"""

from toolfs.format.anthropic import (
    AnthropicBlock,
    AnthropicImageBlock,
    AnthropicImageSource,
    AnthropicTextBlock,
    AnthropicTool,
    AnthropicToolResult,
)
from toolfs.format.definition import Definition, DefinitionError
from toolfs.format.door import Format, ResultFormat, prompt, tool_definitions, tool_result
from toolfs.format.gemini import (
    GeminiBlob,
    GeminiFunctionDeclaration,
    GeminiFunctionResponse,
    GeminiParameter,
    GeminiParameters,
    GeminiResponsePart,
    GeminiTool,
    GeminiToolResult,
)
from toolfs.format.json import JsonHints, JsonTool
from toolfs.format.mcp import (
    McpAnnotations,
    McpContent,
    McpImageContent,
    McpTextContent,
    McpTool,
    McpToolResult,
    McpTools,
)
from toolfs.format.openai import (
    OpenAIChatTool,
    OpenAIChatToolMessage,
    OpenAIFunction,
    OpenAIFunctionCallOutput,
    OpenAIInputImage,
    OpenAIInputText,
    OpenAITool,
)
from toolfs.format.schema import Property, Schema

__all__ = [
    "AnthropicBlock",
    "AnthropicImageBlock",
    "AnthropicImageSource",
    "AnthropicTextBlock",
    "AnthropicTool",
    "AnthropicToolResult",
    "Definition",
    "DefinitionError",
    "Format",
    "GeminiBlob",
    "GeminiFunctionDeclaration",
    "GeminiFunctionResponse",
    "GeminiParameter",
    "GeminiParameters",
    "GeminiResponsePart",
    "GeminiTool",
    "GeminiToolResult",
    "JsonHints",
    "JsonTool",
    "McpAnnotations",
    "McpContent",
    "McpImageContent",
    "McpTextContent",
    "McpTool",
    "McpToolResult",
    "McpTools",
    "OpenAIChatTool",
    "OpenAIChatToolMessage",
    "OpenAIFunction",
    "OpenAIFunctionCallOutput",
    "OpenAIInputImage",
    "OpenAIInputText",
    "OpenAITool",
    "Property",
    "ResultFormat",
    "Schema",
    "prompt",
    "tool_definitions",
    "tool_result",
]
