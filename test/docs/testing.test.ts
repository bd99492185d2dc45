import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { snippets } from '../support/snippets.ts'

/** Below the repository, so that the packages of its test runner are found. */
const FOLDER = resolve('.baton/testing-guide')

const code = snippets('docs/testing.md', 'ts')
  .join('\n')
  .replaceAll("'baton-tasks/testing'", "'../../shared/testing/index.ts'")
  .replaceAll("'baton-tasks'", "'../../shared/index.ts'")

it('the guide has one file of tests in its snippets', () => {
  expect(code.match(/^test\(/gm)).toHaveLength(5)
})

mkdirSync(FOLDER, { recursive: true })
writeFileSync(join(FOLDER, 'guide.ts'), code)

// The tests of the guide run as tests of this file.
await import(join(FOLDER, 'guide.ts'))
