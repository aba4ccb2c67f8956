/**
 * The service of a model that is not there: it answers each request with the next answer of a script.
 *
 * The examples use it without `--live`, so that they run without a key, a network or a bill.
 */
export class ScriptedService {
  /** The bodies of the requests, in order. */
  readonly requests: unknown[] = [];
  readonly #answers: object[];

  constructor(...answers: object[]) {
    this.#answers = answers;
  }

  /** Stands in for `fetch`, which every SDK lets its caller replace. */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    this.requests.push(await request.json());
    const answer = this.#answers.shift();
    if (answer === undefined) {
      throw new Error(`the script has no answer to request ${this.requests.length}`);
    }
    return Response.json(answer);
  };
}
