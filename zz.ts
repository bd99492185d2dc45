import fc from 'fast-check'
import { allRoutes } from './functions/http/all-routes.ts'
import { createApi } from './functions/http/create-api.ts'
import { readContract } from './test/support/conformance/contract.ts'
import { converse, stepsOf } from './test/support/conformance/conversation.ts'
import { aMemorySystem } from './test/support/worlds/memory-system.ts'
const contract = readContract()
const counts: Record<string, number> = {}
let n = 0
const talk = fc.asyncProperty(fc.array(stepsOf(contract), { minLength: 20, maxLength: 60 }), async steps => {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const base = aMemorySystem(); const app = createApi({ ...base, log, clock: { ...base.clock, sleep: async (ms: number) => void (await base.clock.advance(Math.min(ms, 60_000))) } } as never, allRoutes)
  const send = async ({ method, target, body }: any) => {
    const [path = '/', rawQueryString = ''] = target.split(/\?(.*)/s)
    let rawPath = path
    try { rawPath = decodeURIComponent(path).split('?')[0] ?? '' } catch {}
    const event = { rawPath, rawQueryString, requestContext: { http: { method } } }
    const response = await app.request('/', { method: 'POST', ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body }) }, { event } as never)
    n++
    const key = `${method} ${target.split('?')[0].split('/').slice(0,3).join('/')} ${response.status}`
    counts[key] = (counts[key] ?? 0) + 1
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const fault = await converse(contract, send, steps)
  if (fault) throw new Error(fault)
})
const out = await fc.check(talk, { seed: Number(process.argv[2] ?? 1), numRuns: Number(process.argv[3] ?? 30), interruptAfterTimeLimit: 60_000 })
console.log(out.failed, out.numRuns, n, (out.errorInstance as Error)?.message)
if (out.failed) console.log(out.counterexample?.[0].map(s => s.operation.name).join(' '))
console.log(counts)
