"""An agent on Google's Gemini API.

python examples/gemini.py            a scripted model, no network
python examples/gemini.py --live .   the real service, in this directory
"""

from __future__ import annotations

from typing import Any

import httpx2
import scripted
from google import genai
from google.genai import types

from toolfs import Toolfs


def run(model: genai.Client, client: Toolfs, task: str) -> str:
    tools: Any = client.tools("gemini")
    config = types.GenerateContentConfig(system_instruction=client.prompt(), tools=tools)
    contents: list[Any] = [{"role": "user", "parts": [{"text": task}]}]
    with client.open_session() as session:
        while True:
            answer = model.models.generate_content(model="gemini-3.8-flash", contents=contents, config=config)
            if not answer.function_calls or not answer.candidates:
                return answer.text or ""
            # The model's own content goes back whole: it holds more than the calls.
            contents.append(answer.candidates[0].content)
            # One content answers all calls, in their order: an edit may count on the read before it.
            # A refusal is a response like any other, under `error`; it tells the model what to do.
            parts = [
                session.call(call.name or "", call.args or {}).as_result("gemini", id=call.id, name=call.name)
                for call in answer.function_calls
            ]
            contents.append({"role": "user", "parts": parts})


def main() -> None:
    with scripted.options() as options:
        offline: Any = {"httpx_client": httpx2.Client(transport=scripted.transport(scripted.gemini_answer))}
        model = genai.Client() if options.live else genai.Client(api_key="none", http_options=offline)
        with Toolfs.local(root=options.root) as client:
            print(run(model, client, scripted.TASK))


if __name__ == "__main__":
    main()
