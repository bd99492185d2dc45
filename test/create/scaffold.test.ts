import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NEEDED, packageManager, report, scaffold, UnusableFolder } from '../../create/scaffold.ts'
import starter from '../../create/template/package.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }
import { PACKAGES } from '../../scripts/build/packages.ts'
import { aFolder } from '../support/a-folder.ts'

const MAIN = join(import.meta.dirname, '../../create/main.ts')

describe('the starter', () => {
  it('in a new folder is a whole project, named like the folder', () => {
    const folder = join(anEmptyFolder(), 'My Shop')

    const { written, kept, hadApp } = scaffold(folder)

    expect({ kept, hadApp }).toEqual({ kept: [], hadApp: false })
    expect([...written].sort()).toEqual(filesIn(folder))
    expect(written).toContain('.gitignore')
    expect(read(folder, 'package.json')).toMatchObject({ name: 'my-shop', scripts: { dev: 'baton dev' } })
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain('# my-shop')
  })

  it('written again keeps every file, also a changed one', () => {
    const folder = aCdkApp({ name: 'shop' })
    scaffold(folder)
    writeFileSync(join(folder, 'tasks/welcome.ts'), 'mine')

    const { written, kept } = scaffold(folder)

    expect(written).toEqual([])
    expect(kept).toEqual(expect.arrayContaining(['tasks/welcome.ts', 'package.json']))
    expect(readFileSync(join(folder, 'tasks/welcome.ts'), 'utf8')).toBe('mine')
  })

  it('in a CDK app adds tasks and their stack, and only packages and scripts that the app lacks', () => {
    const own = {
      name: 'shop',
      scripts: { test: 'jest' },
      dependencies: { 'aws-cdk-lib': '2.200.0' },
      devDependencies: { zod: '^3.0.0' },
    }
    const folder = aCdkApp(own)

    const { written, hadApp, scripts: names } = scaffold(folder)

    expect(hadApp).toBe(true)
    expect(written).toContain('tasks-stack.ts')
    expect(names).toEqual({ dev: 'dev', test: 'test:tasks' })
    expect(filesIn(folder)).not.toContain('app.ts')
    expect(readFileSync(join(folder, 'cdk.json'), 'utf8')).toBe('{"app":"mine"}')
    const { scripts, dependencies, devDependencies } = read(folder, 'package.json')
    expect(scripts).toEqual({
      dev: 'baton dev',
      test: 'jest',
      'test:tasks': 'tsx --test test/order.node-test.ts',
    })
    expect(dependencies).toEqual({
      'aws-cdk-lib': '2.200.0',
      'baton-tasks': starter.dependencies['baton-tasks'],
    })
    expect(devDependencies).toMatchObject({ zod: '^3.0.0', 'baton-tasks-local': expect.any(String) })
    expect(devDependencies).not.toHaveProperty('aws-cdk-lib')
  })

  it('in an app with a test runner and a dev script of its own touches neither', () => {
    const folder = aCdkApp({ scripts: { dev: 'vite', test: 'jest' } })

    const { written, scripts } = scaffold(folder)

    expect(scripts).toEqual({ dev: 'dev:tasks', test: 'test:tasks' })
    expect(written).toContain('test/order.node-test.ts')
    expect(written).not.toContain('test/order.test.ts')
    expect(read(folder, 'package.json').scripts).toMatchObject({
      ...{ dev: 'vite', test: 'jest' },
      'dev:tasks': 'baton dev',
    })
    expect(scaffold(folder).scripts).toEqual(scripts)
  })

  it.each([
    ['2.200.0', true],
    ['~2.275.1', true],
    ['^2.200.0', false],
    ['2.276.0', false],
    ['^1.0.0', true],
    ['~2.276', false],
    ['>=2.100.0', false],
    ['workspace:*', false],
  ])('aws-cdk-lib %s in an app is too old: %s', (own, isTooOld) => {
    const { outdated } = scaffold(aCdkApp({ dependencies: { 'aws-cdk-lib': own } }))

    expect(outdated).toEqual(isTooOld ? [{ name: 'aws-cdk-lib', own, needed: '2.276.0' }] : [])
  })

  it.each([
    ['^0.24.0', true],
    ['^0.25.0', false],
    ['0.24', true],
    ['^1', false],
  ])('esbuild %s in an app is too old: %s', (own, isTooOld) => {
    const { outdated } = scaffold(aCdkApp({ devDependencies: { esbuild: own } }))

    expect(outdated.map(({ name }) => name)).toEqual(isTooOld ? ['esbuild'] : [])
  })

  it('needs of an app what the package declares as its peers', () => {
    const { peers = {} } = PACKAGES.find(({ name }) => name === 'baton-tasks') ?? {}

    expect(NEEDED).toEqual(
      Object.fromEntries(
        Object.entries(peers).map(([name, range]) => [name, range.replace(/^[^\d]+/, '').split(' ')[0]]),
      ),
    )
  })

  it('names packages in the versions that Baton itself is tested with', () => {
    const tested: Record<string, string> = { ...manifest.dependencies, ...manifest.devDependencies }
    const named = Object.entries({ ...starter.dependencies, ...starter.devDependencies })

    const shared = named.filter(([name]) => Object.hasOwn(tested, name))

    expect(shared.length).toBeGreaterThan(5)
    for (const [name, version] of shared)
      expect([name, version.replace('^', '')]).toEqual([name, tested[name]])
  })

  it.each([
    ['a project without a CDK app', { 'package.json': '{}' }, 'has a package.json but no cdk.json'],
    ['a manifest that is not JSON', { 'package.json': '{', 'cdk.json': '{}' }, 'is not a JSON object'],
    ['a manifest that is a list', { 'package.json': '[]', 'cdk.json': '{}' }, 'is not a JSON object'],
  ])('refuses %s and writes nothing', (_what, files, reason) => {
    const folder = aFolderWith(files)

    expect(() => scaffold(folder)).toThrow(UnusableFolder)
    expect(() => scaffold(folder)).toThrow(reason)

    expect(filesIn(folder)).toEqual(Object.keys(files).sort())
  })

  it('refuses a path that is a file', () => {
    const folder = aFolderWith({ taken: '' })

    expect(() => scaffold(join(folder, 'taken'))).toThrow('is not a folder')
  })
})

describe('the report', () => {
  it('names the stack that an existing app has to create', () => {
    const lines = report(scaffold(aCdkApp({ name: 'shop' })), '/', 'pnpm')

    expect(lines).toContain("new TasksStack(app, 'Tasks')")
    expect(lines).toContain('pnpm install')
  })

  it('names the scripts of the project, what is too old, and what version control should leave out', () => {
    const own = { scripts: { dev: 'vite', test: 'jest' }, dependencies: { zod: '3.24.0' } }
    const folder = aFolderWith({
      'cdk.json': '{}',
      'package.json': JSON.stringify(own),
      '.gitignore': 'node_modules',
    })

    const lines = report(scaffold(folder), '/', 'npm').split('\n')

    expect(lines).toContain('Update zod first: baton-tasks needs 3.25.0 or later, and 3.24.0 is older.')
    expect(lines).toContain('Add .baton/ to .gitignore: it holds generated files.')
    expect(lines).toEqual(expect.arrayContaining(['  npm run test:tasks', '  npm run dev:tasks']))
  })

  it('of a new project has no remarks', () => {
    expect(report(scaffold(anEmptyFolder()), '/', 'npm')).not.toMatch(/Update|Add /)
  })

  it.each([
    ['pnpm/10.1.0 npm/? node/v20', 'pnpm'],
    ['yarn/4.0.0', 'yarn'],
    ['npm/11.0.0', 'npm'],
    [undefined, 'npm'],
    ['other/1', 'npm'],
  ])('for the user agent %j speaks of %s', (userAgent, manager) => {
    expect(packageManager(userAgent)).toBe(manager)
  })
})

describe('npm create baton-tasks', () => {
  it('writes into the named folder and says what to do next', () => {
    const cwd = anEmptyFolder()

    const { status, stdout } = create(cwd, 'shop')

    expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('cd shop') })
    expect(filesIn(join(cwd, 'shop'))).toContain('app.ts')
  })

  it.each([
    ['an option that it does not know', ['--force'], 'npm create baton-tasks [FOLDER]'],
    ['two folders', ['a', 'b'], 'npm create baton-tasks [FOLDER]'],
  ])('with %s writes nothing and exits with 2', (_what, args, said) => {
    const cwd = anEmptyFolder()

    const { status, stderr } = create(cwd, ...args)

    expect({ status, stderr }).toMatchObject({ status: 2, stderr: expect.stringContaining(said) })
    expect(filesIn(cwd)).toEqual([])
  })
})

describe('the program without a folder', () => {
  it('writes into the present folder if it is empty or has a CDK app', () => {
    const [empty, app] = [anEmptyFolder(), aCdkApp({ name: 'shop' })]

    expect([create(empty).status, create(app).status]).toEqual([0, 0])
    expect(filesIn(empty)).toContain('app.ts')
    expect(filesIn(app)).toContain('tasks-stack.ts')
    const again = create(app).stdout
    expect(again).toContain('kept package.json, which was there already')
    expect(again).not.toContain('Create the stack')
  })

  it('refuses any other one, and names how to go into it all the same', () => {
    const folder = aFolderWith({ 'notes.txt': 'mine' })

    const refused = create(folder)

    expect(refused).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('npm create baton-tasks my-tasks'),
    })
    expect(filesIn(folder)).toEqual(['notes.txt'])
    expect(create(folder, '.').status).toBe(0)
  })
})

function create(cwd: string, ...args: string[]) {
  return spawnSync(process.execPath, [MAIN, ...args], { cwd, encoding: 'utf8' })
}

function anEmptyFolder(): string {
  return aFolder()
}

function aCdkApp(own: object): string {
  return aFolderWith({ 'cdk.json': '{"app":"mine"}', 'package.json': JSON.stringify(own) })
}

function aFolderWith(files: Readonly<Record<string, string>>): string {
  const folder = anEmptyFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

function filesIn(folder: string): string[] {
  mkdirSync(folder, { recursive: true })
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

function read(folder: string, file: string) {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'))
}
