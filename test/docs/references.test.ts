import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: root })]

/** A path of the repository in backticks. Generated files may not exist yet. */
const PATH = /`((?:shared|functions|infra|local|scripts|test|examples|docs)(?:\/[\w.-]+)+\/?)`/g
const LINK = /\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g

it.each(pages)('%s names and links only what is there', page => {
  const text = readFileSync(resolve(root, page), 'utf8')
  const named = [...text.matchAll(PATH)].map(([, path = '']) => resolve(root, path))
  const linked = [...text.matchAll(LINK)].map(([, path = '']) => resolve(root, dirname(page), path))

  expect([...named, ...linked].filter(path => !existsSync(path))).toEqual([])
})
