import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { withReasonTables } from '../../openapi/waiting-tables.ts'
import { STATUS_REASONS, WHY_REASONS } from '../../shared/core/states.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../docs/waiting.md'), 'utf8')
const [reasons = '', sentences = ''] = page.split('## One sentence for every task')

describe('docs/waiting.md', () => {
  test('has the present texts of the reasons; else run: npm run openapi', () => {
    expect(page).toBe(withReasonTables(page))
  })

  test.each([
    ['statusReason', reasons, STATUS_REASONS],
    ['reason of why', sentences, WHY_REASONS],
  ])('explains every %s, and no other', (_field, text, all) => {
    const rows = [...text.matchAll(/^\| `([a-z-]+)` /gm)].map(([, reason]) => reason)

    expect(rows.sort()).toEqual([...all].sort())
  })
})

test('a page that has lost one of its tables is refused, and its text is kept as it is', () => {
  const withoutOne = page.replace('| reason |', '| cause |')

  expect(() => withReasonTables(withoutOne)).toThrow('the page has 1 tables of reasons, not 2')
  expect(withReasonTables(page.replace('waits for its due time', 'rests'))).toBe(page)
})
