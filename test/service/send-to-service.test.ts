import { expect, it } from 'vitest'
import { BatonError } from '../../shared/core/values/values.ts'
import { sendToService } from '../../shared/service/send-to-service.ts'

const failing = (error: unknown) => sendToService(async () => Promise.reject(error))(['GET', '/healthz'])

it('an error with a code of Baton is thrown as a problem, with its cause', async () => {
  const cause = new BatonError('unavailable', 'the table does not answer')

  await expect(failing(cause)).rejects.toMatchObject({
    name: 'ProblemError',
    status: 503,
    problem: { detail: 'the table does not answer' },
    cause,
  })
})

it('any other error is thrown as it is', async () => {
  const bug = new TypeError('a bug')

  await expect(failing(bug)).rejects.toBe(bug)
})
