/**
 * The service of a model that is not there: it answers each request with the next answer of a script.
 *
 * The examples use it without `--live`, so that they run without a key, a network or a bill.
 */
export class ScriptedService {
  /** The bodies of the requests, in order. */
  readonly requests: unknown[] = [];
  readonly #answers: object[];
  readonly #check: (request: unknown, turn: number) => void;

  /**
   * @param answers what the service sends, in order
   * @param check throws when a request lacks what the model must be told; `turn` counts from 0
   */
  constructor(answers: readonly object[], check: (request: unknown, turn: number) => void = () => {}) {
    this.#answers = [...answers];
    this.#check = check;
  }

  /** Stands in for `fetch`, which every SDK lets its caller replace. */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const body: unknown = await new Request(input, init).json();
    const turn = this.requests.push(body) - 1;
    const answer = this.#answers[turn];
    if (answer === undefined) {
      throw new Error(`the script has no answer to request ${turn + 1}`);
    }
    this.#check(body, turn);
    return Response.json(answer);
  };
}
