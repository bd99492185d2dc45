import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type LocalSystem, startLocalSystem } from '../support/local-system.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`

let system: LocalSystem
let receiver: Server
const received: IncomingHttpHeaders[] = []

beforeAll(async () => {
  receiver = createServer((request, response) => {
    received.push(request.headers)
    request.resume().on('end', () => response.writeHead(received.length === 1 ? 503 : 200).end())
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  system = await startLocalSystem()
})

afterAll(async () => {
  receiver?.close()
  receiver?.closeAllConnections()
  await system?.stop()
})

it('a trace given at publish reaches the receiver of a webhook, and stays in the task and its history', async () => {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  await system.call('PUT', '/v1/types/notify', {
    kind: 'webhook',
    webhook: { url, allowPrivate: true },
    defaults: { retry: { backoff: 'fixed', delayMs: 100 } },
  })

  const id = await system.publish({ type: 'notify', key: 'traced', traceparent: TRACEPARENT })
  const task = await system.taskWhen(id, ({ status }) => status === 'succeeded')

  expect(received).toHaveLength(2)
  for (const { traceparent } of received)
    expect(traceparent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`))
  expect(task.history.map(({ traceId }: { traceId: string }) => traceId)).toEqual([TRACE_ID, TRACE_ID])
})
