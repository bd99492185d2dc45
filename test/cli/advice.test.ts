import { expect, it } from 'vitest'
import { followUpOf } from '../../cli/connection/with-system.ts'
import { adviceWithCommands } from '../../cli/doctor/doctor.ts'
import { pathOf } from '../../shared/api/endpoints.ts'

it.each([
  [`POST ${pathOf('get', 'jobs:a')}/retry starts it over.`, 'baton retry jobs:a starts it over.'],
  [`POST ${pathOf('get', 'jobs:a b')}/cancel stops it.`, "baton cancel 'jobs:a b' stops it."],
  [
    `DELETE ${pathOf('get', "jobs:it's/a?")} drops the callbacks.`,
    "baton remove 'jobs:it'\\''s/a?' drops the callbacks.",
  ],
  [
    `then POST ${pathOf('get', 'order:ü')}/retry with {"action": "retry-undo"}, or with "skip-undo".`,
    `then baton retry 'order:ü' --action retry-undo, or with "skip-undo".`,
  ],
  ['POST /v1/types/jobs/resume lets its tasks run.', 'baton resume jobs lets its tasks run.'],
  [
    `POST /v1/dead-letters/replay with {"ids": ["type:jobs~1~a"]} sends the message again.`,
    "baton dead-letters replay 'type:jobs~1~a' sends the message again.",
  ],
  ['PUT /v1/types/jobs with a larger limit.', 'PUT /v1/types/jobs with a larger limit.'],
  ['POST /v1/tasks/%E0%A4%A/cancel', "baton cancel '%E0%A4%A'"],
])('%s names the command: %s', (advice, command) => {
  expect(adviceWithCommands(advice, followUpOf({}))).toBe(command)
})

it('the commands name the system as the present one did, each word as the shell takes it', () => {
  const followUp = followUpOf({ stack: 'Shop/orders', profile: 'my live', region: 'eu-west-1' })

  expect(adviceWithCommands(`POST ${pathOf('get', 'jobs:a b')}/cancel stops it.`, followUp)).toBe(
    "baton cancel 'jobs:a b' --stack Shop/orders --profile 'my live' --region eu-west-1 stops it.",
  )
  expect(followUpOf({ url: 'https://api.example/?a=b' })('types')).toBe(
    "baton types --url 'https://api.example/?a=b'",
  )
})
