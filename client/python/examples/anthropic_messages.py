"""An agent on Anthropic's Messages API.

python examples/anthropic_messages.py            a scripted model, no network
python examples/anthropic_messages.py --live .   the real service, in this directory
"""

from __future__ import annotations

from typing import Any

import httpx2
import scripted
from anthropic import Anthropic

from toolfs import Toolfs


def run(model: Anthropic, client: Toolfs, task: str) -> str:
    tools: Any = client.tools("anthropic")
    messages: list[Any] = [{"role": "user", "content": task}]
    with client.open_session() as session:
        while True:
            answer = model.messages.create(
                model="claude-sonnet-5-5", max_tokens=4096, system=client.prompt(), tools=tools, messages=messages
            )
            if answer.stop_reason != "tool_use":
                return "".join(block.text for block in answer.content if block.type == "text")
            messages.append({"role": "assistant", "content": answer.content})
            # One message answers all calls, in their order: an edit may count on the read before it.
            # A refusal is a result like any other; it is marked `is_error`, and tells the model what to do.
            results = [
                session.call(block.name, block.input, tool_call_id=block.id).as_result("anthropic")
                for block in answer.content
                if block.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results})


def main() -> None:
    with scripted.options() as options:
        offline = httpx2.Client(transport=scripted.transport(scripted.anthropic_answer))
        model = Anthropic() if options.live else Anthropic(api_key="none", http_client=offline)
        with Toolfs.local(root=options.root) as client:
            print(run(model, client, scripted.TASK))


if __name__ == "__main__":
    main()
