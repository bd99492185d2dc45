import { expect, it } from 'vitest'
import { sendOddRequests, surviveOddTasks } from '../../support/odd/odd-search.ts'

/** A small share of the search; `test/system/http/odd-requests.slow.test.ts` has the whole of it. */

it('no odd request is answered with a server error, and every refusal is a problem document', async () => {
  const sent = await sendOddRequests({ requests: 600, seed: 1 })

  expect(sent.faults).toEqual([])
  expect(sent.accepted).toBeGreaterThan(30)
})

it('lists, claims, plans and sweeps work on every accepted odd request', async () => {
  const survived = await surviveOddTasks({ accepted: 60, seed: 2 })

  expect(survived.faults).toEqual([])
})
