"""An agent on OpenAI's Chat Completions API.

python examples/openai_chat.py            a scripted model, no network
python examples/openai_chat.py --live .   the real service, in this directory
"""

from __future__ import annotations

from typing import Any

import httpx2
import scripted
from openai import OpenAI

from toolfs import Toolfs


def run(model: OpenAI, client: Toolfs, task: str) -> str:
    tools: Any = client.tools("openai-chat")
    messages: list[Any] = [{"role": "system", "content": client.prompt()}, {"role": "user", "content": task}]
    with client.open_session() as session:
        while True:
            completion = model.chat.completions.create(model="gpt-6.2-sol", tools=tools, messages=messages)
            answer = completion.choices[0].message
            if not answer.tool_calls:
                return answer.content or ""
            messages.append(answer)
            # In the order of the calls: an edit may count on the read before it.
            for call in answer.tool_calls:
                if call.type == "function":
                    # The arguments go on as the model wrote them; the server says what is wrong with them.
                    reply = session.call(call.function.name, call.function.arguments, tool_call_id=call.id)
                    messages.append(reply.as_result("openai-chat"))


def main() -> None:
    with scripted.options() as options:
        offline = httpx2.Client(transport=scripted.transport(scripted.openai_chat_answer))
        model = OpenAI() if options.live else OpenAI(api_key="none", http_client=offline)
        with Toolfs.local(root=options.root) as client:
            print(run(model, client, scripted.TASK))


if __name__ == "__main__":
    main()
