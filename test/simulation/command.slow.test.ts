import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const MAIN = resolve(import.meta.dirname, 'main.ts')

function simulate(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('node', [MAIN, ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  return { status, stdout, stderr }
}

describe('npm run simulate', () => {
  it('plays a range of seeds and sums them up', () => {
    const { status, stdout } = simulate('--seeds', '4', '--from', '11')

    expect(stdout).toMatch(/^4 seeds, \d+ events, [\d.]+ virtual hours, 0 broken, in [\d.]+ s/)
    expect(status).toBe(0)
  })

  it('plays one seed the same way every time, traced or not', () => {
    const [once, again] = [simulate('--seed', '12', '--trace'), simulate('--seed', '12', '--trace')]
    const untraced = simulate('--seed', '12')

    expect(once.stdout.split('\n').length).toBeGreaterThan(50)
    expect(again).toEqual(once)
    expect(once.stdout.endsWith(untraced.stdout)).toBe(true)
    expect(untraced.stdout).toMatch(/^1 seed, \d+ events/)
  })

  it('ends with code 2 and one line when an argument is illegal', () => {
    expect(simulate('--seeds', 'many')).toEqual({
      status: 2,
      stdout: '',
      stderr: "--seeds is 'many': give a whole number from 1 to 4294967295\n",
    })
  })
})
