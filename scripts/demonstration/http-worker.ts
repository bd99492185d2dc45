/** The two third parties of the demonstration: a worker that uses HTTP only, and a receiver of webhooks. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Claim, FinishMember } from '../../shared/api/runs.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Json } from '../../shared/core/values/values.ts'
import { type Count, digestOf, type Types } from './pieces.ts'

/** The outcome of a run: its result, or the next stage with its input. */
type Outcome = { readonly result: Json } | { readonly next: { readonly stage: string; readonly input: Json } }

/** The work for each type that the worker serves. */
const WORK = {
  /** Digests the text of its input, or the count that the previous task of a chain hands on. */
  digest: ({ input, previous }) => ({
    result: digestOf(previous === undefined ? (input as { text: string }).text : wordsOf(previous as Count)),
  }),
  'merge-counts': ({ previous }) => ({ result: merged(previous as Count[]) }),
  /** The first stage joins a text into one line, and the second stage digests that line. */
  proofread: ({ input, stage }) => {
    const { text } = input as { text: string }
    return stage === 'seal'
      ? { result: digestOf(text) }
      : { next: { stage: 'seal', input: { text: inOneLine(text) } } }
  },
  forget: ({ step }) => ({ result: `forgot the ${step}` }),
  /** Serves callbacks: it returns the input of the note. */
  note: ({ input }) => ({ result: input ?? null }),
} satisfies Record<string, (task: ApiTask) => Outcome>

type Served = keyof typeof WORK

export const HTTP_TYPES: Types = Object.fromEntries(Object.keys(WORK).map(type => [type, { kind: 'http' }]))

/** A worker that uses HTTP only, like a program in any language: it claims, computes and finishes. */
export function startHttpWorker(client: Client): { stop(): Promise<void> } {
  let stopping = false
  const working = (async () => {
    while (!stopping) {
      const { claims } = await client.claim({
        types: Object.keys(WORK),
        workerId: 'demonstration',
        limit: 25,
        waitMs: 1_000,
      })
      if (claims.length > 0) await client.finishMany(claims.map(finishOf))
    }
  })()
  return {
    stop: async () => {
      stopping = true
      await working
    },
  }
}

/** Runs a claim and returns its end. The steps of this demonstration's flows are named like their types; `forget` undoes each. */
function finishOf({ task, run }: Claim): FinishMember {
  const type = task.direction === 'undo' ? 'forget' : (task.step ?? task.type)
  const name = { taskId: task.id, runId: run.id, fence: run.fence }
  return { ...name, outcome: 'succeed', ...WORK[type as Served](task) }
}

function merged(counts: readonly Count[]): Count {
  return counts.reduce((sum, { words, lines }) => ({ words: sum.words + words, lines: sum.lines + lines }), {
    words: 0,
    lines: 0,
  })
}

/** The text of a count, which a chain digests. */
export function wordsOf({ words, lines }: Count): string {
  return `${words} words in ${lines} lines`
}

export function inOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/**
 * Starts a server that receives webhooks on a free port, as a third party would. `POST /hook` accepts all keys. `POST /flaky` answers 503 to
 * the first two calls of each key. `POST /announce` answers 403 to keys that begin with `refused`. All paths begin with a secret, so that no
 * web page can call them.
 */
export async function startReceiver() {
  const delivered = new Map<string, number>()
  const secret = `/${randomBytes(16).toString('hex')}`
  const server = createServer(async (request, response) => {
    if (!request.url?.startsWith(`${secret}/`)) return void response.writeHead(404).end()
    const path = request.url.slice(secret.length)
    const { key } = (await json(request)) as { key: string }
    const count = (delivered.get(key) ?? 0) + 1
    delivered.set(key, count)
    const [status, answer] = answerTo(path, key, count)
    response.writeHead(status).end(answer)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${secret}`,
    /** How many webhooks of the task with this key arrived. */
    deliveries: (key: string) => delivered.get(key) ?? 0,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** How many calls of one key `/flaky` refuses before it accepts. */
export const FLAKY_REFUSALS = 2

function answerTo(path: string, key: string, count: number): [number, string] {
  if (path === '/flaky' && count <= FLAKY_REFUSALS) return [503, 'not now']
  if (path === '/announce' && key.startsWith('refused')) return [403, 'never']
  return [200, 'thank you']
}
