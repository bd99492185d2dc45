import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildDashboard } from '../../scripts/build/dashboard.ts'
import { aFolder } from '../support/a-folder.ts'

const KB = 1_000
const folder = aFolder()
let inputs: readonly string[] = []

beforeAll(async () => {
  inputs = await buildDashboard(folder)
})

const zippedBytes = (pattern: string) =>
  globSync(pattern, { cwd: folder })
    .map(file => gzipSync(readFileSync(join(folder, file))).byteLength)
    .reduce((sum, bytes) => sum + bytes, 0)

describe('the built dashboard', () => {
  it('has at most 250 KB of JavaScript in all, zipped', () => {
    expect(zippedBytes('assets/*.js')).toBeGreaterThan(50 * KB)
    expect(zippedBytes('assets/*.js')).toBeLessThanOrEqual(250 * KB)
  })

  it('has at most 10 KB of styles, zipped', () => {
    expect(zippedBytes('assets/*.css')).toBeLessThanOrEqual(10 * KB)
  })

  it('contains no schema library, no AWS SDK and nothing of the core but bounds and names', () => {
    expect(inputs.filter(path => /node_modules\/(zod|@aws-sdk)\//.test(path))).toEqual([])
  })

  it('has a document that names only its own files, without code of its own', () => {
    const document = readFileSync(join(folder, 'index.html'), 'utf8')
    const paths = [...document.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)

    expect(paths.length).toBeGreaterThan(3)
    expect(paths.filter(path => readFileSync(join(folder, path)).length === 0)).toEqual([])
    expect(document).not.toMatch(/%[A-Z_]+%|<script>|<style|style=/)
  })
})
