import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../support/http/an-api.ts'

let api: TestApi
beforeAll(async () => {
  api = await anApi()
})

describe('GET /v1/events of a deployed system', () => {
  it('is a 501 that says where the events are', async () => {
    const { status, body, headers } = await api.call('GET', '/v1/events?type=task.ready&type=task.failed')

    expect(status).toBe(501)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({ type: 'urn:baton:problem:not-here', status: 501 })
    expect(body.detail).toContain('EventBusName')
  })

  it('refuses an unknown parameter by its name', async () => {
    const { status, body } = await api.call('GET', '/v1/events?types=task.ready')

    expect(status).toBe(400)
    expect(body.errors).toEqual([{ path: 'types', message: expect.stringContaining('lastEventId') }])
  })

  it('supports no other method', async () => {
    expect((await api.call('POST', '/v1/events', {})).status).toBe(405)
  })
})

describe('a type', () => {
  it('shows whether its events are published, which is false by default', async () => {
    const quiet = await api.call('PUT', '/v1/types/quiet', { kind: 'http' })
    const loud = await api.call('PUT', '/v1/types/loud', { kind: 'http', events: true })

    expect(quiet.body.events).toBe(false)
    expect(loud.body.events).toBe(true)
    expect((await api.call('GET', '/v1/types/loud')).body.events).toBe(true)
    expect((await api.call('PUT', '/v1/types/loud', { kind: 'http' })).body.events).toBe(false)
  })

  it.each([1, 'yes', null, []])('refuses %j as the value of events', async events => {
    const { status, body } = await api.call('PUT', '/v1/types/odd', { kind: 'http', events })

    expect(status).toBe(400)
    expect(body.errors[0].path).toBe('events')
  })
})
