import { globSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { PRODUCTION } from '../../scripts/house.ts'
import {
  crowdedFolders,
  fileImportsInCircles,
  foldableFiles,
  importsInCircles,
  importsOfFeatures,
} from './rooms.ts'
import { isIgnored, root, sources } from './sources.ts'

/** Holds the folders against the house style: one subject per room, imports in one direction, no needless short file. */

const FOLDER_FILES_MAX = 16
const SHORT_FILE_LINES = 40

const FOLDERS = [...PRODUCTION, 'test']

/** Folders that still hold more, and how many at most: these numbers only shrink. */
const CROWDED: Readonly<Record<string, number>> = {}

/** Folders whose rooms import each other in one direction only. */
const LAYERS = [
  ...['shared/core', 'shared/runtime', 'shared/aws', 'shared/aws/dynamo', 'shared/client', 'shared/worker'],
  ...['functions', 'infra', 'local', 'cli', 'cli/dev', 'openapi', 'scripts', 'web'],
]

/** The rooms that every feature builds on. They know the kinds of heads, and no feature. */
const KERNEL = ['shared/core/task', 'shared/core/change', 'shared/runtime/kernel']

const FEATURES = [
  ...['canvas', 'schedule', 'flow', 'limits', 'fair', 'events', 'jobs', 'list'].flatMap(room => [
    `shared/core/${room}`,
    `shared/runtime/${room}`,
  ]),
  ...['shared/runtime/place', 'shared/runtime/stream'],
]

/** Short files with one importer that name a concept, and which. */
const CONCEPTS: Readonly<Record<string, string>> = {
  'bench/takeover.ts': 'a row of the benchmark, a file each',
  'cli/program/init.ts': 'a command, a file each',
  'functions/lock-intrinsics.ts': 'what is locked before a handler is loaded',
  'shared/testing/create-test-system.ts': 'the choice between a system in memory and one behind a URL',
}

describe('a folder', () => {
  it(`holds at most ${FOLDER_FILES_MAX} files`, () => {
    const paths = globSync(`{${FOLDERS}}/**/*.*`, { cwd: root, exclude: path => isIgnored(path) })

    expect(paths.length).toBeGreaterThan(800)
    expect(crowdedFolders(paths, FOLDER_FILES_MAX, CROWDED)).toEqual([])
  })

  it('with one file more is refused, and one with an exception only beyond that', () => {
    const paths = ['a/1.ts', 'a/2.ts', 'a/b/3.ts', 'c/4.ts', 'c/5.ts', 'c/6.ts']

    expect(crowdedFolders(paths, 1)).toEqual(['a has 2 files: at most 1', 'c has 3 files: at most 1'])
    expect(crowdedFolders(paths, 1, { a: 2, c: 2 })).toEqual(['c has 3 files: at most 2'])
  })
})

describe('rooms', () => {
  it.each(LAYERS)('of %s use each other in one direction only', folder => {
    expect([...sources.keys()].filter(file => file.startsWith(folder)).length).toBeGreaterThan(5)
    expect(importsInCircles(folder, sources)).toEqual([])
  })

  it('that use each other are refused, by types and by way of a third, too', () => {
    const circle = new Map([
      ['x/a/a.ts', "import { b } from '../b/b.ts'\nimport { own } from './own.ts'\n"],
      ['x/b/b.ts', "import type { C } from '../loose.ts'\n"],
      ['x/loose.ts', "export { type A } from './a/a.ts'\nimport { d } from './d/d.ts'\n"],
      ['x/d/d.ts', "import { other } from '../../y/e.ts'\n"],
    ])

    expect(importsInCircles('x', circle)).toEqual([
      'x/a/a.ts imports x/b/b.ts',
      'x/b/b.ts imports x/loose.ts',
      'x/loose.ts imports x/a/a.ts',
    ])
    expect(importsInCircles('x', new Map([...circle].slice(0, 2)))).toEqual([])
  })
})

describe('files of the core', () => {
  it('use each other in one direction only', () => {
    expect(fileImportsInCircles('shared/core', sources)).toEqual([])
  })

  it('of one room that use each other are refused, by types too', () => {
    const circle = new Map([
      ['x/a/a.ts', "import { b } from './b.ts'\n"],
      ['x/a/b.ts', "import type { C } from './c.ts'\n"],
      ['x/a/c.ts', "import type { A } from './a.ts'\nimport { d } from './d.ts'\n"],
      ['x/a/d.ts', "import { other } from '../../y/e.ts'\n"],
    ])

    expect(importsInCircles('x', circle)).toEqual([])
    expect(fileImportsInCircles('x', circle)).toEqual([
      'x/a/a.ts imports x/a/b.ts',
      'x/a/b.ts imports x/a/c.ts',
      'x/a/c.ts imports x/a/a.ts',
    ])
  })
})

describe('the kernel', () => {
  it('imports no feature', () => {
    expect(importsOfFeatures(KERNEL, FEATURES, sources)).toEqual([])
  })

  it('that imports a feature is refused, by a type too', () => {
    const files = new Map([
      ['x/kernel/a.ts', "import type { B } from '../feature/b.ts'\n"],
      ['x/feature/b.ts', "import { a } from '../kernel/a.ts'\n"],
    ])

    expect(importsOfFeatures(['x/kernel'], ['x/feature'], files)).toEqual([
      'x/kernel/a.ts imports x/feature/b.ts',
    ])
  })
})

describe('a short file with one importer', () => {
  it(`of fewer than ${SHORT_FILE_LINES} lines in the same folder names a concept`, () => {
    expect(foldableFiles(sources, SHORT_FILE_LINES).sort()).toEqual(Object.keys(CONCEPTS).sort())
  })

  it('is refused, unless it is longer, used twice, or used by another folder', () => {
    const uses = (path: string) => `import { one } from '${path}'\n`
    const made = new Map([
      ['a/short.ts', 'export const one = 1\n'],
      ['a/long.ts', 'export const one = 1\n'.repeat(3)],
      ['a/shared.ts', 'export const one = 1\n'],
      ['a/interface.ts', 'export const one = 1\n'],
      ['a/main.ts', ['./short.ts', './long.ts', './shared.ts'].map(uses).join('')],
      ['b/main.ts', ['../a/shared.ts', '../a/interface.ts'].map(uses).join('')],
      ['test/a.test.ts', uses('../a/short.ts')],
    ])

    expect(foldableFiles(made, 3)).toEqual(['a/short.ts'])
  })
})
