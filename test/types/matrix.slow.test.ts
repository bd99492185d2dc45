import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { root } from '../architecture/sources.ts'
import { tarballs } from '../support/package/tarballs.ts'
import { snippets } from '../support/snippets.ts'
import { undocumentedOptions } from './documented.ts'
import { type CompilerError, differences, errorsIn, expectationsIn, type Version } from './expectations.ts'
import { foreignProject, ownPackages, SETTINGS, type Settings } from './foreign-project.ts'

// The declarations that `npm run build` makes, in a project outside the repository, under both compilers.

const BUILT = resolve(root, 'dist/baton-tasks')
const VERSIONS = [5, 7] as const satisfies readonly Version[]

/** What `npm i baton-tasks zod` installs, as far as the compiler needs it. */
const installed = { 'baton-tasks': BUILT, ...ownPackages('@standard-schema/spec', 'zod') }

beforeAll(async () => {
  await tarballs()
})

describe.each(Object.keys(SETTINGS) as Settings[])('under the settings: %s', settings => {
  it.each(VERSIONS)('TypeScript %d gives one readable error for each wrong call', version => {
    using project = foreignProject(installed)
    project.configure(settings)

    const errors = errorsIn(project.folder, version)

    expect(differences(errors, expectationsIn(project.folder))).toEqual([])
  })
})

it('the messages are those that were read and found good', async () => {
  using project = foreignProject(installed)
  project.configure('strict')

  const [five, seven] = VERSIONS.map(version => errorsIn(project.folder, version))

  const text = expectationsIn(project.folder).map(({ file, line, code }) => {
    const [old, recent] = [messageAt(five, file, line), messageAt(seven, file, line)]
    const messages = old === recent ? [`  5 and 7: ${old}`] : [`  5: ${old}`, `  7: ${recent}`]
    return [`${file}: ${code}`, ...messages, ''].join('\n')
  })
  await expect(text.join('\n')).toMatchFileSnapshot('messages.snap.txt')
})

function messageAt(errors: readonly CompilerError[] = [], file: string, line: number): string {
  return errors.find(error => error.file === file && error.line === line)?.message ?? 'nothing'
}

it('the client needs no schema library: its types are whole without one', () => {
  using project = foreignProject({ 'baton-tasks': BUILT, ...ownPackages('@standard-schema/spec') })
  project.write('only-client.ts', CLIENT_ONLY)

  for (const settings of ['strict', 'not strict'] as const) {
    project.configure(settings, ['only-client.ts'])
    const found = VERSIONS.map(version => differences(errorsIn(project.folder, version), ONLY_ERROR))
    expect(found).toEqual([[], []])
  }
})

const CLIENT_ONLY = `import { createClient } from 'baton-tasks'
const { status } = await createClient({ url: 'a' }).get('a:b')
export const number: number = status
`
const ONLY_ERROR = [{ file: 'only-client.ts', line: 3, message: 'TS2322', code: '' }]

it('the handler of docs/handlers.md that retries by status compiles', () => {
  using project = foreignProject(installed)
  const code = snippets('docs/handlers.md', 'ts').find(snippet => snippet.includes('RetryLater')) ?? ''
  project.write('retries.ts', code)
  project.configure('strict', ['retries.ts'])

  expect(VERSIONS.flatMap(version => errorsIn(project.folder, version))).toEqual([])
  expect(code).toContain('429')
})

it('each option that users can give has a comment, with its unit and its default', () => {
  expect(undocumentedOptions(file => readFileSync(resolve(BUILT, file), 'utf8'))).toEqual([])
})
