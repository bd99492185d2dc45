import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

type Locked = {
  readonly resolved?: string
  readonly inBundle?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Readonly<Record<string, Locked>>
}

it('the lock file has every optional package, else a clean install refuses it', () => {
  const installed = Object.entries(packages).filter(([, { inBundle }]) => !inBundle)
  const missing = installed.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      name => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  )

  expect(missing).toEqual([])
})

it('the lock file names no registry', () => {
  expect(Object.keys(packages).filter(path => packages[path]?.resolved)).toEqual([])
})
