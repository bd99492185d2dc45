import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { findLocalSystem } from '../../cli/local-package.ts'

function aProject(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'local-package-')))
}

function install(folder: string): string {
  const place = join(folder, 'node_modules', 'baton-tasks-local')
  mkdirSync(place, { recursive: true })
  const manifest = { name: 'baton-tasks-local', type: 'module', baton: { main: './cli/dev/main.js' } }
  writeFileSync(join(place, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(place, 'node-runtime.js'), "export const nodeBinary = () => '/node-24'")
  return place
}

const builtModule = (folder: string) =>
  pathToFileURL(join(folder, 'node_modules', 'baton-tasks', 'cli', 'dev.js')).href

test('the local system is the package of the project, run by the Node that it brings', async () => {
  const folder = aProject()
  const place = install(folder)

  const found = await findLocalSystem(builtModule(aProject()), folder)

  expect(found).toEqual({ node: '/node-24', main: join(place, 'cli', 'dev', 'main.js') })
})

test('it may also be installed beside the command', async () => {
  const elsewhere = aProject()
  const place = install(elsewhere)

  const found = await findLocalSystem(builtModule(elsewhere), aProject())

  expect(found.main).toBe(join(place, 'cli', 'dev', 'main.js'))
})

test('without it one line says how to install it', async () => {
  const finding = findLocalSystem(builtModule(aProject()), aProject())

  await expect(finding).rejects.toMatchObject({
    code: 'misconfigured',
    message: 'baton dev needs the package baton-tasks-local: npm install --save-dev baton-tasks-local',
  })
})

test('in this repository it stands beside the module', async () => {
  const found = await findLocalSystem(import.meta.resolve('../../cli/dev.ts'), aProject())

  expect(found).toEqual({ node: process.execPath, main: join(process.cwd(), 'cli/dev/main.ts') })
})
