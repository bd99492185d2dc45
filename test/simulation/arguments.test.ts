import { expect, it } from 'vitest'
import { parseArguments } from './arguments.ts'

it.each([
  [[], { from: 1, count: 1_000 }],
  [['--seeds', '20'], { from: 1, count: 20 }],
  [['--seeds=20', '--from=0'], { from: 0, count: 20 }],
  [['--seed', '7'], { seed: 7, isTraced: false }],
  [['--trace', '--seed', '7'], { seed: 7, isTraced: true }],
  [['--seed', '7', '--only', 'crowd'], { seed: 7, isTraced: false, only: 'crowd' }],
  [['--seeds', '5', '--only=control'], { from: 1, count: 5, only: 'control' }],
])('the arguments %j are understood', (args, request) => {
  expect(parseArguments(args)).toEqual(request)
})

it.each([
  [['--seeds', 'many'], '--seeds is'],
  [['--seeds', '0'], '--seeds is'],
  [['--from', '1.5'], '--from is'],
  [['--from', '4294967296'], '--from is'],
  [['--seed'], '--seed is nothing'],
  [['--seed', '-1'], '--seed is'],
  [['--seed=-1'], '--seed is'],
  [['--seed', '1', '--from', '2'], '--from does not go with --seed'],
  [['--seed', '1', '--seeds', '2'], '--seeds does not go with --seed'],
  [['--trace'], '--trace needs --seed'],
  [['--trace=no', '--seed', '1'], '--trace takes no value'],
  [['--only', 'crowds'], "--only is 'crowds': give one of control, far"],
  [['--sedes', '3'], '--sedes is unknown'],
  [['7'], "'7' is not a flag"],
])('the arguments %j are refused in one line that says what is legal', (args, beginning) => {
  const request = parseArguments(args)

  const mistake = 'mistake' in request ? request.mistake : 'none'
  expect(mistake.startsWith(beginning)).toBe(true)
  expect(mistake).toMatch(/^.*(legal are|give a whole number|give one of).*$/)
})
