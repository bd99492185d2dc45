import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { PROBLEM_MEANINGS } from '../../openapi/refusals.ts'
import { API_PROBLEM_CODES } from '../../shared/api/problem-codes.ts'
import { PROBLEM_KINDS } from '../../shared/service/present/problems.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../docs/problems.md'), 'utf8')

it('docs/problems.md has every code with its status, its meaning and what to do', () => {
  const rows = API_PROBLEM_CODES.map(code => {
    const { means, todo } = PROBLEM_MEANINGS[code]
    return `| \`${code}\` | ${PROBLEM_KINDS[code][0]} | ${means} | ${todo} |`
  })

  expect(page.split('\n').filter(line => /^\| `[a-z-]+` \| \d/.test(line))).toEqual(rows)
})
