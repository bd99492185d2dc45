import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { PROBLEM_MEANINGS } from '../../openapi/refusals.ts'
import { API_PROBLEM_CODES } from '../../shared/api/problem-codes.ts'
import { STATUS_REASONS, WHY_REASONS } from '../../shared/core/states.ts'
import { PROBLEM_KINDS } from '../../shared/service/present/problems.ts'

const pageOf = (name: string) => readFileSync(resolve(import.meta.dirname, `../../docs/${name}.md`), 'utf8')
const [reasons = '', sentences = ''] = pageOf('waiting').split('## One sentence for every task')

it.each([
  ['statusReason', reasons, STATUS_REASONS],
  ['reason of why', sentences, WHY_REASONS],
])('docs/waiting.md explains every %s, and no other', (_field, text, all) => {
  const rows = [...text.matchAll(/^\| `([a-z-]+)` /gm)].map(([, reason]) => reason)

  expect(rows.sort()).toEqual([...all].sort())
})

it('docs/problems.md has every code with its status, its meaning and what to do', () => {
  const rows = API_PROBLEM_CODES.map(code => {
    const { means, todo } = PROBLEM_MEANINGS[code]
    return `| \`${code}\` | ${PROBLEM_KINDS[code][0]} | ${means} | ${todo} |`
  })

  expect(
    pageOf('problems')
      .split('\n')
      .filter(line => /^\| `[a-z-]+` \| \d/.test(line)),
  ).toEqual(rows)
})
