import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { files, type Import, importsOf, linesOf, root, sources } from './architecture/sources.ts'

/** Holds the code against the table of docs/architecture.md and the house style that no linter checks. */

type Rule = {
  /** A folder (ends in `/`) or one file. The first rule that matches a file is its rule. */
  readonly of: string
  /** The folders and files that it may import besides itself. `any` for the edges. */
  readonly repository: readonly string[] | 'any'
  /** The folders and files that it may import with `import type` only. */
  readonly types: readonly string[]
  /** The packages that it may import, by the beginning of their names (`node:` for Node's own). */
  readonly packages: readonly string[] | 'any'
}

const FILE_LINES_MAX = 300
/** Files that are public entries: they may consist of re-exports alone. */
const ENTRIES = [
  'shared/index.ts',
  'shared/http-entry.ts',
  'shared/api/index.ts',
  'shared/aws-entry.ts',
  'shared/testing/index.ts',
  'infra/index.ts',
]

const rules = rulesIn(readFileSync(resolve(root, 'docs/architecture.md'), 'utf8'))

describe('the folders', () => {
  it('were found', () => {
    expect(files).toEqual(expect.arrayContaining(['shared/core/task/task.ts', 'test/architecture.test.ts']))
  })

  it('have a rule for every file, and every rule has a file', () => {
    expect(files.filter(file => ruleOf(file) === undefined)).toEqual([])
    expect(rules.filter(rule => !files.some(file => ruleOf(file) === rule))).toEqual([])
  })

  it.each(rules.map(rule => [rule.of, rule] as const))('%s imports only what it may', (_of, rule) => {
    const wrong = files
      .filter(file => ruleOf(file) === rule)
      .flatMap(file => importsOf(file).map(one => problemOf(rule, one)))
      .filter(problem => problem !== undefined)

    expect(wrong).toEqual([])
  })
})

describe('the testing kit', () => {
  it('reaches no AWS SDK, by way of no file', () => {
    const reached = new Set(['shared/testing/index.ts', 'shared/testing/stores/memory-stores.ts'])
    for (const file of reached) {
      for (const one of importsOf(file)) if (!one.isPackage && !one.isType) reached.add(one.target)
    }
    const packages = [...reached].flatMap(file => importsOf(file).filter(one => one.isPackage))

    expect(reached).toContain('shared/aws/dynamo/head/task-store.ts')
    expect(packages.filter(({ target }) => /^@aws-sdk|^@smithy/.test(target))).toEqual([])
  })
})

describe('clock, chance and environment', () => {
  const AMBIENT =
    /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\brandom(Bytes|Int|UUID)\(|\bprocess\.\w|\bset(Timeout|Interval|Immediate)\(|\bAbortSignal\.timeout\(|\bperformance\./

  /** Where clock, chance and environment are bound: in the client, for AWS, in memory, and for a worker's processes. */
  const EDGES = [
    ...[
      'shared/client/',
      'shared/aws/',
      'shared/testing/world/timeline.ts',
      'shared/testing/world/timeline.ts',
      'shared/testing/system/deployed-system.ts',
      'shared/testing/run-task.ts',
      'shared/worker/isolation/',
    ],
    ...['console-log', 'create-worker', 'definitions-in'].map(name => `shared/worker/${name}.ts`),
  ]

  it('are arguments everywhere in shared/ but at its edges', () => {
    const inner = [...sources].filter(
      ([file]) => isWithin(file, 'shared/') && !EDGES.some(edge => isWithin(file, edge)),
    )

    expect(inner.length).toBeGreaterThan(50)
    expect(inner.filter(([, text]) => AMBIENT.test(text)).map(([file]) => file)).toEqual([])
  })
})

describe('what users run on Node 20', () => {
  const LATER =
    /\b(Map|Object)\.groupBy\(|\bPromise\.(withResolvers|try)\b|\bArray\.fromAsync\(|\bIterator\.from\(|\bglob\w*\b.* from 'node:fs/

  it('uses nothing that later versions brought', () => {
    const rooms = ['shared/', 'infra/', 'cli/', 'create/', 'loopback/']
    const using = [...sources].filter(
      ([file, text]) => rooms.some(room => isWithin(file, room)) && LATER.test(withoutComments(text)),
    )

    expect(using.map(([file]) => file).filter(file => !isWithin(file, 'cli/dev/'))).toEqual([])
  })
})

describe('calls of what is not AWS', () => {
  const CALL = /\bfetch\(|^import (?!type)[^'"]*'node:(https?|http2|net|tls)'/m

  it('go through the guarded fetch, but for the answer to CloudFormation', () => {
    const callers = [...sources].filter(([file, text]) => isWithin(file, 'functions/') && CALL.test(text))

    expect(callers.map(([file]) => file)).toEqual([
      'functions/guarded-fetch/checked-addresses.ts',
      'functions/guarded-fetch/guarded-fetch.ts',
      'functions/registrar.ts',
    ])
  })
})

describe('every file', () => {
  it(`outside test/ has at most ${FILE_LINES_MAX} lines`, () => {
    const long = [...sources].filter(
      ([file, text]) => !file.startsWith('test/') && linesOf(text) > FILE_LINES_MAX,
    )

    expect(long.map(([file, text]) => `${file} has ${linesOf(text)} lines`)).toEqual([])
  })

  it('exports by name, never by default', () => {
    const wrong = [...sources].filter(([, text]) => /^export\s+default\b|\bas default\b/m.test(text))

    expect(wrong.map(([file]) => file)).toEqual(['vitest.config.ts'])
  })

  it('says something of its own: no barrels next to the public entries', () => {
    const barrels = [...sources].filter(([file, text]) => !ENTRIES.includes(file) && isBarrel(text))

    expect(barrels.map(([file]) => file)).toEqual([])
  })

  it('has a name in kebab-case', () => {
    const name = /^[a-z0-9]+(-[a-z0-9]+)*(\.slow)?(\.test|\.config)?(\.tsx?)?$/
    const wrong = files.filter(file => !file.split('/').every(part => name.test(part)))

    expect(wrong).toEqual([])
  })
})

/** A row of the table gives each folder or file in its first cell the rule in its others. */
function rulesIn(page: string): Rule[] {
  const rows = page.split('\n').filter(line => line.startsWith('| `'))
  return rows.flatMap(row => {
    const [names = '', repository = '', types = '', packages = ''] = row.split('|').slice(1)
    return quotedIn(names).map(of => ({
      of,
      repository: /\bany/.test(repository) ? 'any' : quotedIn(repository),
      types: quotedIn(types),
      packages: /\bany/.test(packages) ? 'any' : quotedIn(packages),
    }))
  })
}

function quotedIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
}

function ruleOf(file: string): Rule | undefined {
  return rules.find(({ of }) => isWithin(file, of))
}

function problemOf(rule: Rule, { file, target, isPackage, isType }: Import): string | undefined {
  if (isPackage) {
    const isAllowed = rule.packages === 'any' || rule.packages.some(name => isOfPackage(target, name))
    return isAllowed ? undefined : `${file} imports the package ${target}; ${legal(rule.packages)}`
  }
  if (rule.repository === 'any' || isWithin(target, rule.of)) return undefined
  if (rule.repository.some(path => isWithin(target, path))) return undefined
  const isTypeAllowed = rule.types.some(path => isWithin(target, path))
  if (isTypeAllowed && isType) return undefined
  if (isTypeAllowed) return `${file} imports ${target}, of which only types are allowed here`
  return `${file} imports ${target}; ${legal([...rule.repository, ...rule.types])}`
}

function legal(allowed: readonly string[] | 'any'): string {
  return allowed.length > 0 ? `allowed besides its own: ${allowed}` : 'only its own is allowed'
}

function isWithin(path: string, folderOrFile: string): boolean {
  return folderOrFile.endsWith('/') ? path.startsWith(folderOrFile) : path === folderOrFile
}

function isOfPackage(target: string, name: string): boolean {
  return name.endsWith('/') || name.endsWith(':')
    ? target.startsWith(name)
    : target === name || target.startsWith(`${name}/`)
}

function isBarrel(text: string): boolean {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '').trim()
  const rest = code.replaceAll(/^export\b[^'"`;]*?\bfrom\s+'[^']+'\s*$/gm, '').trim()
  return code !== '' && rest === ''
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')
}
