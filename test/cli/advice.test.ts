import { expect, it } from 'vitest'
import { adviceWithCommands } from '../../cli/doctor/advice.ts'
import { taskPath } from '../../shared/api/paths.ts'

it.each([
  [`POST ${taskPath('jobs:a')}/retry starts it over.`, 'baton retry jobs:a starts it over.'],
  [`POST ${taskPath('jobs:a b')}/cancel stops it.`, "baton cancel 'jobs:a b' stops it."],
  [
    `DELETE ${taskPath("jobs:it's/a?")} drops the callbacks.`,
    "baton remove 'jobs:it'\\''s/a?' drops the callbacks.",
  ],
  [
    `then POST ${taskPath('order:ü')}/retry with {"action": "retry-undo"}, or with "skip-undo".`,
    `then baton retry 'order:ü' --action retry-undo, or with "skip-undo".`,
  ],
  ['POST /v1/types/jobs/resume lets its tasks run.', 'baton resume jobs lets its tasks run.'],
  ['PUT /v1/types/jobs with a larger limit.', 'PUT /v1/types/jobs with a larger limit.'],
  ['POST /v1/tasks/%E0%A4%A/cancel', "baton cancel '%E0%A4%A'"],
])('%s names the command: %s', (advice, command) => {
  expect(adviceWithCommands(advice)).toBe(command)
})
