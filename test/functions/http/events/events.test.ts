import { describe, expect, it } from 'vitest'
import { anApi } from '../../../support/http/an-api.ts'

const api = await anApi()

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
