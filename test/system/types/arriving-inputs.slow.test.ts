import { expect, it } from 'vitest'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

const system = aLocalSystem()

it('The schema of a deployed definition is registered, and an input that does not fit is refused', async () => {
  const publish = (input: object) => system.call('POST', '/v1/tasks', { type: 'word-count', input })

  const refused = await publish({ text: 5 })
  const published = await publish({ text: 'one two' })

  expect(refused.status).toBe(400)
  expect(refused.body.errors).toEqual([{ path: 'input.text', message: 'must be text, not 5' }])
  expect(published.status).toBe(201)
  const { body } = await system.call('GET', '/v1/types/word-count')
  expect(body).toMatchObject({
    checkInput: true,
    inputSchema: { anyOf: [{ required: ['text'] }, { required: ['url'] }] },
  })
})
