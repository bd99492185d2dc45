import { createServer } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { createMeter, prices } from '../../../local/gateway/meter.ts'
import { COSTS_PATH, startCosts } from '../../../local/http/costs.ts'
import { close, listen } from '../../../loopback/loopback.ts'
import { sendRaw } from '../../support/http/raw-http.ts'

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const stop of closing.splice(0)) await stop()
})

it('the costs are those of what was metered since the start, of each minute, of each type, and of one task', async () => {
  const meter = createMeter()
  const costs = startCosts(meter, () => 60_000)
  const server = createServer((request, response) => {
    if (!costs.serve(request, response)) response.writeHead(404).end()
  })
  const url = await listen(server, 0)
  closing.push(costs.stop, () => close(server))
  meter.add(
    { caller: 'api', service: 'dynamodb', operation: 'PutItem', resource: 'tasks' },
    { calls: 1, writeUnits: 1_000_000 },
    ['mail:a', 'pay'],
  )

  const answer = await fetch(url + COSTS_PATH)

  expect(await answer.json()).toEqual({
    from: '1970-01-01T00:01:00.000Z',
    usd: prices.writeUnit * 1e6,
    minutes: [{ at: '1970-01-01T00:01:00.000Z', usd: prices.writeUnit * 1e6 }],
    types: [
      { type: 'mail', usd: prices.writeUnit * 5e5, lastHourUsd: prices.writeUnit * 5e5 },
      { type: 'pay', usd: prices.writeUnit * 5e5, lastHourUsd: prices.writeUnit * 5e5 },
    ],
  })
  const task = await fetch(`${url}${COSTS_PATH}?task=${encodeURIComponent('mail:a')}`)
  expect(await task.json()).toMatchObject({ usd: prices.writeUnit * 5e5, usage: { writeUnits: 5e5 } })
  const old = await fetch(`${url}${COSTS_PATH}?task=mail:b`)
  expect(await old.json()).toEqual({})
  expect((await fetch(`${url}/v1/tasks`)).status).toBe(404)
  expect((await fetch(url + COSTS_PATH, { method: 'POST' })).status).toBe(404)
})

it.each(['//', '//[', '/\\', 'http://[', '*'])('a request for %s is left to the next handler', async path => {
  const costs = startCosts(createMeter())
  const server = createServer((request, response) => {
    if (!costs.serve(request, response)) response.writeHead(404).end()
  })
  const url = await listen(server)
  closing.push(costs.stop, () => close(server))

  const answer = await sendRaw(Number(new URL(url).port), [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1'])

  expect(answer.status).toBe(404)
})
