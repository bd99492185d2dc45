/**
 * What the overview asks first is asked while its code is still on its way. A script in the head of the document sends these requests
 * (`first-paint.ts`), and the code of the page takes their answers in place of its own first requests.
 */

declare global {
  /** The answers that are on their way, by the address of their question. */
  var earlyAnswers: Map<string, Promise<Response>> | undefined
}

/**
 * Asks these questions of the API ahead of the code that needs their answers. The later ones are asked when the first are answered: the
 * page can be drawn without them.
 */
export function askEarly(first: readonly string[], later: readonly string[]): void {
  const answers = new Map(first.map(address => [address, askOne(address)]))
  const areAnswered = Promise.allSettled([...answers.values()])
  for (const address of later) {
    const answer = areAnswered.then(() => askOne(address))
    answers.set(address, answer)
  }
  globalThis.earlyAnswers = answers
  // The page reports a failure when it takes the answer.
  for (const answer of answers.values()) answer.catch(() => {})
}

function askOne(address: string): Promise<Response> {
  const request = new Request(address)
  prove(request)
  return fetch(request)
}

/** The early answer to this request, which ends with the request. Each is given once; undefined when there is none. */
export function takeEarly({ method, url, signal }: Request): Promise<Response> | undefined {
  const answer = method === 'GET' ? globalThis.earlyAnswers?.get(url) : undefined
  if (!answer) return undefined
  globalThis.earlyAnswers?.delete(url)
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  if (signal.aborted) reject(signal.reason)
  return Promise.race([answer, aborted])
}

/** The header and the name in the storage that `cli/dashboard/session.ts` reads and writes. */
const PAGE_TOKEN = 'baton-dashboard-page'

/** Proves to `baton dashboard` that this is its page. No other server has put a token here. */
export function prove({ headers }: Request): void {
  const token = localStorage.getItem(PAGE_TOKEN)
  if (token !== null) headers.set(PAGE_TOKEN, token)
}
