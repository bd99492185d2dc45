import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readContract } from '../../../support/conformance/contract.ts'
import { converse, type Request, type Send, stepsOf } from '../../../support/conformance/conversation.ts'
import { anApi } from '../../../support/http/an-api.ts'
import { aLocalSystem } from '../../../support/local-system/local-system.ts'
import type { ManualClock } from '../../../support/ports/clock.ts'
import { aMemorySystem } from '../../../support/worlds/memory-system.ts'

/** The API keeps its document in conversations that are drawn at random. A failure prints its seed and the shortest conversation. */

const contract = readContract()
const SEED = Number(process.env.CONVERSATION_SEED ?? 1)
/** The local system answers some of the requests after a second or more on a busy machine. */
const TIMEOUT_MS = 900_000
const RUNS = Number(process.env.CONVERSATION_RUNS ?? 150)

describe('the API in memory', () => {
  it('keeps the document in conversations of up to 60 requests', async () => {
    const talk = fc.asyncProperty(
      fc.array(stepsOf(contract), { minLength: 20, maxLength: 60 }),
      async steps => {
        const { clock, ...system } = aMemorySystem()
        const { app } = await anApi({ ...system, clock: hurried(clock) })
        const send: Send = async ({ method, target, body }) => {
          const [path = '/', rawQueryString = ''] = target.split(/\?(.*)/s)
          const event = { rawPath: decoded(path), rawQueryString, requestContext: { http: { method } } }
          const response = await app.request('/', { method: 'POST', ...sent(body) }, { event })
          return { status: response.status, headers: response.headers, text: await response.text() }
        }
        expect(await converse(contract, send, steps)).toBeUndefined()
      },
    )

    await fc.assert(talk, { seed: SEED, numRuns: RUNS, interruptAfterTimeLimit: 200_000 })
  })
})

describe('the local system, over HTTP', () => {
  const system = aLocalSystem()

  it(
    'keeps the document in a conversation of 300 requests',
    async () => {
      const send: Send = async request => {
        const response = await fetch(new URL(request.target, system.cloud.apiUrl), {
          method: request.method,
          ...sent(request.body),
        })
        return { status: response.status, headers: response.headers, text: await response.text() }
      }
      const steps = fc.sample(stepsOf(contract), { seed: SEED, numRuns: 300 })

      expect(await converse(contract, send, steps)).toBeUndefined()
    },
    TIMEOUT_MS,
  )
})

/** A clock on which a sleep moves the time forward at once. */
function hurried(clock: ManualClock): ManualClock {
  return { ...clock, sleep: async ms => void (await clock.advance(Math.min(ms, 60_000))) }
}

function sent(body: Request['body']) {
  return body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path).split('?')[0] ?? ''
  } catch {
    return path
  }
}
