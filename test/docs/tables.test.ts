import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROBLEM_MEANINGS } from '../../openapi/refusals.ts'
import { withReasonTables } from '../../openapi/waiting-tables.ts'
import { API_PROBLEM_CODES } from '../../shared/api/problem-codes.ts'
import { STATUS_REASONS, WHY_REASONS } from '../../shared/core/states.ts'
import { PROBLEM_KINDS } from '../../shared/service/present/problems.ts'

const pageOf = (name: string) => readFileSync(resolve(import.meta.dirname, `../../docs/${name}.md`), 'utf8')
const page = pageOf('waiting')
const [reasons = '', sentences = ''] = page.split('## One sentence for every task')

describe('docs/waiting.md', () => {
  it('has the present texts of the reasons; else run: npm run openapi', () => {
    expect(page).toBe(withReasonTables(page))
  })

  it.each([
    ['statusReason', reasons, STATUS_REASONS],
    ['reason of why', sentences, WHY_REASONS],
  ])('explains every %s, and no other', (_field, text, all) => {
    const rows = [...text.matchAll(/^\| `([a-z-]+)` /gm)].map(([, reason]) => reason)

    expect(rows.sort()).toEqual([...all].sort())
  })
})

it('a page that has lost one of its tables is refused, and its text is kept as it is', () => {
  const withoutOne = page.replace('| reason |', '| cause |')

  expect(() => withReasonTables(withoutOne)).toThrow('the page has 1 tables of reasons, not 2')
  expect(withReasonTables(page.replace('waits for its due time', 'rests'))).toBe(page)
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
