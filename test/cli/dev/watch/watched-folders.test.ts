import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { ignoredFolders, watchedFolders } from '../../../../cli/dev/watch/saves.ts'

it('the packages of a workspace that the project uses are watched, and installed ones are not', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-')))
  const aPackage = (path: string, dependencies: object) => {
    mkdirSync(join(root, path), { recursive: true })
    writeFileSync(join(root, path, 'package.json'), JSON.stringify({ dependencies }))
  }
  const link = (name: string, target: string) => {
    mkdirSync(dirname(join(root, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, target), join(root, 'node_modules', name))
  }
  aPackage('apps/shop', { '@shop/jobs': '*', zod: '*', missing: '*' })
  aPackage('packages/jobs', { '@shop/model': '*' })
  aPackage('packages/model', { '@shop/jobs': '*' })
  aPackage('packages/unused', {})
  aPackage('node_modules/zod', {})
  link('@shop/jobs', 'packages/jobs')
  link('@shop/model', 'packages/model')

  const folders = watchedFolders(join(root, 'apps/shop'))

  expect(folders).toEqual(['apps/shop', 'packages/jobs', 'packages/model'].map(path => join(root, path)))
})

it('a generated folder from which the app runs is watched', () => {
  const ignored = (app: string) => ignoredFolders({ app, folder: '/p', context: {}, generated: '/p/.baton' })

  expect([...ignored('npx tsx infra/app.ts')]).toEqual(['node_modules', 'dist', 'cdk.out', 'coverage'])
  expect([...ignored('node dist/infra/app.js')]).toEqual(['node_modules', 'cdk.out', 'coverage'])
  expect([...ignored('node_modules/.bin/tsx app.ts')]).toContain('node_modules')
})
