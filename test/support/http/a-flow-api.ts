import { expect } from 'vitest'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { anApiPerTest, type Shown } from './an-api.ts'

const ONCE = { retry: { maxRetries: 0 } }

/** Steps `reserve` and `charge`, each with an undo. HTTP workers of the type `jobs` try each of them once. */
export const STEPS = [
  { name: 'reserve', do: { type: 'jobs', ...ONCE }, undo: { type: 'jobs', ...ONCE, timeoutMs: 5_000 } },
  { name: 'charge', do: { type: 'jobs', ...ONCE, input: { cents: 5 } }, undo: { type: 'jobs', ...ONCE } },
]
export const FLOW = { kind: 'flow', steps: STEPS }
export const ORDER = '/v1/tasks/order:k'

/** Makes the API anew before each test of a file, and functions that call it for a flow with the id `order:k`. */
export function aFlowApiPerTest() {
  const api = anApiPerTest()
  const call: typeof api.call = (...args) => api.call(...args)
  const put = (body: object, type = 'order') => call('PUT', `/v1/types/${type}`, body)
  const publish = (body: object = {}) =>
    call('POST', '/v1/tasks', { type: 'order', key: 'k', input: { sku: 'x' }, ...body })
  const get = (id = 'order:k'): Promise<Shown> => api.task(id)
  const claim = async (type = 'jobs'): Promise<{ task: Shown; run: Shown }> => {
    const { body } = await call('POST', '/v1/claims', { type, workerId: 'w1', limit: 1 })
    return body.claims[0]
  }
  /** Claims a task and ends the run by the route `word`. Returns the task afterwards. */
  const endRun = async (word: 'succeed' | 'fail' | 'release', more: object = {}): Promise<Shown> => {
    const { task, run } = await claim()
    const path = `${pathOf('get', task.id)}/runs/${run.id}/${word}`
    const { status, body } = await call('POST', path, { fence: run.fence, ...more })
    expect(status).toBe(200)
    return body.task
  }
  const succeed = (result?: unknown) => endRun('succeed', result === undefined ? {} : { result })
  const fail = (message: string) => endRun('fail', { error: { name: 'Error', message } })
  const retry = (action?: string) => call('POST', `${ORDER}/retry`, action === undefined ? {} : { action })
  /** Publishes the flow and lets its first step succeed. */
  const begun = async () => {
    await put(FLOW)
    await publish()
    await succeed({ place: 7 })
  }
  /** Lets the second step fail, and then its undo. */
  const halted = async () => {
    await begun()
    await fail('declined')
    await fail('bank closed')
  }
  return Object.assign(api, {
    put,
    publish,
    get,
    claim,
    succeed,
    fail,
    retry,
    begun,
    halted,
  })
}

export function statesOf({ steps }: Shown): string[] {
  return steps.map(({ state }: Shown) => state)
}

/** The paths of the fields that the problems of an answer name. */
export function problemPaths({ body }: Shown): string[] {
  return body.errors.map(({ path }: Shown) => path)
}
