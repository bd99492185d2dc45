import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageManager, report } from '../../create/report.ts'
import { scaffold, UnusableFolder } from '../../create/scaffold.ts'
import starter from '../../create/template/package.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }

const MAIN = join(import.meta.dirname, '../../create/main.ts')

describe('the starter', () => {
  test('in a new folder is a whole project, named like the folder', () => {
    const folder = join(anEmptyFolder(), 'My Shop')

    const { written, kept, hadApp } = scaffold(folder)

    expect({ kept, hadApp }).toEqual({ kept: [], hadApp: false })
    expect([...written].sort()).toEqual(filesIn(folder))
    expect(written).toContain('.gitignore')
    expect(read(folder, 'package.json')).toMatchObject({ name: 'my-shop', scripts: { dev: 'baton dev' } })
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain('# my-shop')
  })

  test('written again keeps every file, also a changed one', () => {
    const folder = aCdkApp({ name: 'shop' })
    scaffold(folder)
    writeFileSync(join(folder, 'tasks/welcome.ts'), 'mine')

    const { written, kept } = scaffold(folder)

    expect(written).toEqual(['package.json'])
    expect(kept).toContain('tasks/welcome.ts')
    expect(readFileSync(join(folder, 'tasks/welcome.ts'), 'utf8')).toBe('mine')
  })

  test('in a CDK app adds tasks and their stack, and only packages and scripts that the app lacks', () => {
    const own = {
      name: 'shop',
      scripts: { test: 'jest' },
      dependencies: { 'aws-cdk-lib': '2.200.0' },
      devDependencies: { zod: '^3.0.0' },
    }
    const folder = aCdkApp(own)

    const { written, hadApp } = scaffold(folder)

    expect(hadApp).toBe(true)
    expect(written).toContain('tasks-stack.ts')
    expect(filesIn(folder)).not.toContain('app.ts')
    expect(readFileSync(join(folder, 'cdk.json'), 'utf8')).toBe('{"app":"mine"}')
    const { scripts, dependencies, devDependencies } = read(folder, 'package.json')
    expect(scripts).toEqual({ dev: 'baton dev', test: 'jest' })
    expect(dependencies).toEqual({
      'aws-cdk-lib': '2.200.0',
      'baton-tasks': starter.dependencies['baton-tasks'],
    })
    expect(devDependencies).toMatchObject({ zod: '^3.0.0', 'baton-tasks-local': expect.any(String) })
    expect(devDependencies).not.toHaveProperty('aws-cdk-lib')
  })

  test('names packages in the versions that Baton itself is tested with', () => {
    const tested: Record<string, string> = { ...manifest.dependencies, ...manifest.devDependencies }
    const named = Object.entries({ ...starter.dependencies, ...starter.devDependencies })

    const shared = named.filter(([name]) => Object.hasOwn(tested, name))

    expect(shared.length).toBeGreaterThan(5)
    for (const [name, version] of shared)
      expect([name, version.replace('^', '')]).toEqual([name, tested[name]])
  })

  test.each([
    ['a project without a CDK app', { 'package.json': '{}' }, 'has a package.json but no cdk.json'],
    ['a manifest that is no JSON', { 'package.json': '{', 'cdk.json': '{}' }, 'is not a JSON object'],
    ['a manifest that is a list', { 'package.json': '[]', 'cdk.json': '{}' }, 'is not a JSON object'],
  ])('refuses %s and writes nothing', (_what, files, reason) => {
    const folder = aFolderWith(files)

    expect(() => scaffold(folder)).toThrow(UnusableFolder)
    expect(() => scaffold(folder)).toThrow(reason)

    expect(filesIn(folder)).toEqual(Object.keys(files).sort())
  })

  test('refuses a path that is a file', () => {
    const folder = aFolderWith({ taken: '' })

    expect(() => scaffold(join(folder, 'taken'))).toThrow('is not a folder')
  })
})

describe('the report', () => {
  test('names the stack that an existing app has to create', () => {
    const lines = report(scaffold(aCdkApp({ name: 'shop' })), '/', 'pnpm')

    expect(lines).toContain("new TasksStack(app, 'Tasks')")
    expect(lines).toContain('pnpm install')
  })

  test.each([
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
  test('writes into the named folder and says what to do next', () => {
    const cwd = anEmptyFolder()

    const { status, stdout } = create(cwd, 'shop')

    expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('cd shop') })
    expect(filesIn(join(cwd, 'shop'))).toContain('app.ts')
  })

  test.each([
    ['an option that it does not know', ['--force'], 'npm create baton-tasks [FOLDER]'],
    ['two folders', ['a', 'b'], 'npm create baton-tasks [FOLDER]'],
  ])('with %s writes nothing and exits with 2', (_what, args, said) => {
    const cwd = anEmptyFolder()

    const { status, stderr } = create(cwd, ...args)

    expect({ status, stderr }).toMatchObject({ status: 2, stderr: expect.stringContaining(said) })
    expect(filesIn(cwd)).toEqual([])
  })
})

function create(cwd: string, ...args: string[]) {
  return spawnSync(process.execPath, [MAIN, ...args], { cwd, encoding: 'utf8' })
}

function anEmptyFolder(): string {
  return mkdtempSync(join(tmpdir(), 'starter-'))
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
