import { describe, expect, it } from 'vitest'
import {
  circlesOf,
  countFile,
  countFiles,
  FUNCTION_LINES_MAX,
  productionFiles,
  singleFileFolders,
} from '../../scripts/house.ts'

/** Holds the production code to the house style: short functions, no circles of files, no folder for one file. */

const counts = countFiles(productionFiles())

describe('the production code', () => {
  it('was found', () => {
    expect(counts.length).toBeGreaterThan(500)
    expect(counts.map(({ file }) => file)).toEqual(
      expect.arrayContaining(['cli/program/baton.ts', 'scripts/set-up.mjs', 'web/main.tsx']),
    )
  })

  it(`has no function above ${FUNCTION_LINES_MAX} lines, closures included`, () => {
    const long = counts.flatMap(({ longFunctions }) => longFunctions)

    expect(long).toEqual([])
  })

  it('has no circle of files, imports of types included', () => {
    expect(circlesOf(counts)).toEqual([])
  })

  it('has no folder for one file', () => {
    expect(singleFileFolders(counts.map(({ file }) => file))).toEqual([])
  })
})

describe('the counts', () => {
  it('of a file leave out comments and empty lines, and know its imports', () => {
    const text = [
      "import type { A } from './a.ts'",
      "import {\n  b,\n} from '../b/b.ts'",
      "import { c } from 'c'",
      '',
      '/** A comment. */',
      '// Another one.',
      'export const d = `\n  text\n`',
    ].join('\n')

    expect(countFile('x/y/z.ts', text)).toEqual({
      file: 'x/y/z.ts',
      ...{ lines: 11, codeLines: 8, importLines: 5, longFunctions: [] },
      imports: ['x/y/a.ts', 'x/b/b.ts'],
    })
  })

  it('of a function include its closures', () => {
    const closure = ['  const inner = () => {', ...Array(57).fill('    call()'), '  }']
    const file = (more: string[]) =>
      countFile('f.ts', ['function f() {', ...closure, ...more, '}'].join('\n'))

    expect(file([]).longFunctions).toEqual([{ file: 'f.ts', name: 'f', lines: 61 }])
    expect(countFile('f.ts', closure.join('\n')).longFunctions).toEqual([])
  })

  it('of circles find each once, by way of several files', () => {
    const files = [
      { file: 'a', imports: ['b'] },
      { file: 'b', imports: ['c', 'd'] },
      { file: 'c', imports: ['a', 'elsewhere'] },
      { file: 'd', imports: ['e'] },
      { file: 'e', imports: [] },
    ]

    expect(circlesOf(files)).toEqual([['a', 'b', 'c']])
  })

  it('of folders leave out those with another file', () => {
    expect(singleFileFolders(['a/b.ts', 'a/c.ts', 'd/e.ts', 'f/g.ts', 'f/h/i.ts', 'f/h/j.ts'])).toEqual(['d'])
  })
})
