"""An agent on OpenAI's Responses API, with strict schemas.

python examples/openai_responses.py            a scripted model, no network
python examples/openai_responses.py --live .   the real service, in this directory
"""

from __future__ import annotations

from typing import Any

import httpx2
import scripted
from openai import OpenAI

from toolfs import Toolfs


def run(model: OpenAI, client: Toolfs, task: str) -> str:
    # Strict: the model gives every argument, and `null` for one that it does not want, which means absent.
    tools: Any = client.tools("openai", strict=True)
    items: list[Any] = [{"role": "user", "content": task}]
    with client.open_session() as session:
        while True:
            answer = model.responses.create(model="gpt-6.2-sol", instructions=client.prompt(), tools=tools, input=items)
            items += answer.output
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return answer.output_text
            # In the order of the calls: an edit may count on the read before it.
            for call in calls:
                reply = session.call(call.name, call.arguments, tool_call_id=call.call_id)
                items.append(reply.as_result("openai"))


def main() -> None:
    with scripted.options() as options:
        offline = httpx2.Client(transport=scripted.transport(scripted.openai_responses_answer))
        model = OpenAI() if options.live else OpenAI(api_key="none", http_client=offline)
        with Toolfs.local(root=options.root) as client:
            print(run(model, client, scripted.TASK))


if __name__ == "__main__":
    main()
