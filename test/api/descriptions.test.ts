import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

/** Readers of the code see comments at the members of a schema. Readers of the OpenAPI document see descriptions there. */

const folder = resolve(import.meta.dirname, '../../shared/api')
const sources = globSync('*.ts', { cwd: folder })
  .sort()
  .map(file => [file, readFileSync(resolve(folder, file), 'utf8')] as const)

const COMMENT = /^ +\/\*\* (.+) \*\/\n +(\w+): /gm
const DESCRIPTION = /(?:\.describe\(\s*|description:\s*)(?:'([^']+)'|"([^"]+)"|`((?:[^`\\]|\\.)+)`)/g
/** The schemas of these members have descriptions of their own, which hold for each member with that schema. */
const DESCRIBED_BY_SCHEMA = ['log', 'previous', 'result', 'run', 'type']

describe.each(sources)('the schemas of %s', (_file, text) => {
  const comments = [...text.matchAll(COMMENT)].map(([, comment = '', member = '']) => ({ comment, member }))
  const descriptions = [...text.matchAll(DESCRIPTION)].map(match => match.slice(1).find(Boolean) ?? '')

  test('have each comment at a member as its description, too', () => {
    const undescribed = comments
      .filter(({ member }) => !DESCRIBED_BY_SCHEMA.includes(member))
      .filter(({ comment }) => !descriptions.some(description => sameWords(description, comment)))

    expect(undescribed).toEqual([])
  })
})

/** A number in a description may come from a constant. */
function sameWords(description: string, comment: string): boolean {
  return description.replaceAll('\\`', '`').replace(/\$\{\w+\}/g, '300000') === comment
}
