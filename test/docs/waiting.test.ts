import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { STATUS_REASONS, WHY_REASONS } from '../../shared/core/states.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../docs/waiting.md'), 'utf8')
const [reasons = '', sentences = ''] = page.split('## One sentence for every task')

it.each([
  ['statusReason', reasons, STATUS_REASONS],
  ['reason of why', sentences, WHY_REASONS],
])('docs/waiting.md explains every %s, and no other', (_field, text, all) => {
  const rows = [...text.matchAll(/^\| `([a-z-]+)` /gm)].map(([, reason]) => reason)

  expect(rows.sort()).toEqual([...all].sort())
})
