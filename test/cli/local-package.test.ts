import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { findLocalSystem } from '../../cli/dev/command/dev-command.ts'
import { aFolder } from '../support/a-folder.ts'

const VERSION = '0.3.0'

/** Installs the local system into a project. */
function install(folder: string, version = VERSION): string {
  const place = join(folder, 'node_modules', 'baton-tasks-local')
  mkdirSync(place, { recursive: true })
  const exports = { './package.json': './package.json' }
  const manifest = { name: 'baton-tasks-local', version, exports, baton: { main: './cli/dev/main.js' } }
  writeFileSync(join(place, 'package.json'), JSON.stringify({ ...manifest, type: 'module' }))
  writeFileSync(join(place, 'node-runtime.js'), "export const nodeBinary = () => '/node-24'")
  return place
}

/** Installs the package with the command, and returns the URL of the module that asks for the local system. */
function builtModule(folder: string): string {
  const place = join(folder, 'node_modules', 'baton-tasks')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name: 'baton-tasks', version: VERSION }))
  return pathToFileURL(join(place, 'cli', 'dev', 'command', 'dev-command.js')).href
}

it('the local system is the package of the project, run by the Node that it brings', async () => {
  const folder = aFolder()
  const place = install(folder)

  const found = await findLocalSystem(builtModule(aFolder()), folder)

  expect(found).toEqual({ node: '/node-24', main: join(place, 'cli', 'dev', 'main.js') })
})

it('it may also be installed next to the command', async () => {
  const elsewhere = aFolder()
  const place = install(elsewhere)

  const found = await findLocalSystem(builtModule(elsewhere), aFolder())

  expect(found.main).toBe(join(place, 'cli', 'dev', 'main.js'))
})

it('without it one line says how to install it', async () => {
  const finding = findLocalSystem(builtModule(aFolder()), aFolder())

  await expect(finding).rejects.toMatchObject({
    code: 'misconfigured',
    message: 'baton dev needs the package baton-tasks-local: npm install --save-dev baton-tasks-local',
  })
})

it.each(['0.2.0', '0.3.1', '0.3.0-next.1'])('version %s is refused next to another one', async version => {
  const folder = aFolder()
  install(folder, version)

  const finding = findLocalSystem(builtModule(aFolder()), folder)

  await expect(finding).rejects.toMatchObject({
    code: 'misconfigured',
    message: `baton-tasks-local has version ${version} and baton-tasks has 0.3.0, but both must be the same: npm install --save-dev baton-tasks-local@0.3.0`,
  })
})

it('in this repository it is next to the module', async () => {
  const found = await findLocalSystem(import.meta.resolve('../../cli/dev/command/dev-command.ts'), aFolder())

  expect(found).toEqual({ node: process.execPath, main: join(process.cwd(), 'cli/dev/main.ts') })
})
