import { runBaton } from '../../../cli/program/run-baton.ts'
import type { TestApi } from '../http/an-api.ts'
import { servedJobs } from '../worlds/memory-system.ts'

/** What a command has printed, and its exit code. */
export type Ran = { readonly code: number; readonly out: string; readonly err: string }

type Terminal = {
  readonly env?: Readonly<Record<string, string>>
  /** What the user types or pipes into the command. A function is called when the command reads it. */
  readonly input?: string | (() => Promise<string>)
  readonly isTTY?: boolean
  readonly signal?: AbortSignal
  /** Called with each text that the command prints. */
  readonly onPrint?: () => void
  /** Sends requests. By default they go to the API in memory. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** Runs a command in this process, on an API in memory and by its clock. */
export async function runOn(
  api: (Pick<TestApi, 'app'> & Partial<Pick<TestApi, 'system'>>) | undefined,
  args: readonly string[],
  {
    env = {},
    input = '',
    isTTY = false,
    signal = new AbortController().signal,
    fetch,
    onPrint,
  }: Terminal = {},
): Promise<Ran> {
  const printed = { out: '', err: '' }
  const stream = (name: 'out' | 'err') => ({
    write: (text: string) => {
      printed[name] += text
      onPrint?.()
    },
    isTTY,
    columns: isTTY ? 100 : undefined,
    rows: isTTY ? 30 : undefined,
  })
  async function* typed() {
    yield typeof input === 'string' ? input : await input()
  }
  const code = await runBaton(args, {
    out: stream('out'),
    err: stream('err'),
    input: { isTTY, [Symbol.asyncIterator]: typed },
    env,
    now: () => api?.system?.clock.now() ?? Date.now(),
    sleep: async () => {
      if (api?.system) await servedJobs(api.system)
    },
    signal,
    endAfter: () => {},
    fetch: async request => {
      if (fetch) return fetch(request)
      if (!api) throw new TypeError('fetch failed')
      return api.app.request(request)
    },
  })
  return { code, ...printed }
}

/** The values of lines of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers as their users do, without types
export const jsonLines = (text: string): any[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
