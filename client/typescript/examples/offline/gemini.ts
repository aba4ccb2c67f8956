/** Google's Gemini API without Google. */
import { type Content, GoogleGenAI, type Part } from "@google/genai";
import { checkResults, LAST_WORDS, TURNS } from "./script.js";
import { ScriptedService } from "./service.js";

/** A client of the SDK whose answers are scripted. */
export function scriptedGemini(): GoogleGenAI {
  const turns = TURNS.map((calls) => answerOf(calls.map((functionCall) => ({ functionCall }))));
  const service = new ScriptedService([...turns, answerOf([{ text: LAST_WORDS }])], check);
  return new GoogleGenAI({ apiKey: "none", httpOptions: { fetch: service.fetch } });
}

function answerOf(parts: Part[]): object {
  return { candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts } }] };
}

function check(request: unknown, turn: number): void {
  const { contents } = request as { contents: Content[] };
  const parts = contents.at(-1)?.parts ?? [];
  const results = parts.flatMap(({ functionResponse }) => {
    const { id, response } = functionResponse ?? {};
    const error = response?.error;
    return response ? [{ id: id ?? "", text: String(error ?? response.output), isError: error !== undefined }] : [];
  });
  checkResults(results, turn);
}
