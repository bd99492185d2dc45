import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { STATUS_REASONS } from '../../shared/core/status/status.ts'

test('docs/waiting.md explains every reason for which a task waits, and no other', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/waiting.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z-]+)` /gm)].map(([, reason]) => reason)

  expect(rows.sort()).toEqual([...STATUS_REASONS].sort())
})
