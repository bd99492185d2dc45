/** Errors as handlers throw them in the world outside: with causes, without a message, longer than a record, or no errors at all. */

export type OddError = {
  /** Throws with a text that must not be stored. */
  readonly thrown: (secret: string) => unknown
  /** The name under which it must be stored. */
  readonly name: string
  /** The message, or the beginning of one that is longer than a record. */
  readonly message: string
  readonly isLong?: true
  /** The messages of its causes, the nearest first. */
  readonly causes?: readonly string[]
}

const LONG = 6_000

export const ODD_ERRORS = {
  'a long message': {
    thrown: () => new Error('a b '.repeat(LONG)),
    name: 'Error',
    message: 'a b '.repeat(30),
    isLong: true,
  },
  'a long message of quotes': {
    thrown: () => new Error('"\\'.repeat(LONG)),
    name: 'Error',
    message: '"\\'.repeat(30),
    isLong: true,
  },
  'a long message in other scripts': {
    thrown: () => new Error('é漢😀\u0001\n'.repeat(LONG)),
    name: 'Error',
    message: 'é漢😀\u0001\n'.repeat(10),
    isLong: true,
  },
  'a long stack': {
    thrown: () => withMembers(new Error('short'), { stack: 'Error: short\n'.repeat(LONG) }),
    name: 'Error',
    message: 'short',
    isLong: true,
  },
  'a name of a class': {
    thrown: () => withMembers(new Error('it has a name'), { name: 'PaymentRefused' }),
    name: 'PaymentRefused',
    message: 'it has a name',
  },
  causes: {
    thrown: () => {
      const inner = new Error('the innermost')
      return new Error('outer', { cause: new Error('inner', { cause: inner }) })
    },
    name: 'Error',
    message: 'outer',
    causes: ['inner', 'the innermost'],
  },
  'seven causes': {
    thrown: () => chain(7),
    name: 'Error',
    message: 'cause 0',
    causes: ['cause 1', 'cause 2', 'cause 3', 'cause 4', 'cause 5'],
  },
  'several errors': {
    thrown: () => new AggregateError([new Error('one'), new Error('two')], 'both'),
    name: 'AggregateError',
    message: 'both',
    causes: ['one', 'two'],
  },
  'a cause that is not an error': {
    thrown: () => new Error('outer', { cause: null }),
    name: 'Error',
    message: 'outer',
  },
  'a circle of causes': {
    thrown: () => {
      const one = new Error('one')
      return withMembers(one, { cause: new Error('two', { cause: one }) })
    },
    name: 'Error',
    message: 'one',
    causes: ['two'],
  },
  'a code and no message': {
    thrown: () => withMembers(new Error(''), { code: 'ECONNREFUSED' }),
    name: 'Error',
    message: 'ECONNREFUSED',
  },
  undefined: { thrown: () => undefined, name: 'Error', message: 'undefined' },
  'a text': { thrown: () => 'only a text', name: 'Error', message: 'only a text' },
  'an object': { thrown: () => ({ is: 'plain' }), name: 'Error', message: '{"is":"plain"}' },
  'a secret in the message': {
    thrown: (secret: string) => new Error(`the card ${secret} was refused`),
    name: 'Error',
    message: 'the card [redacted] was refused',
  },
  'a secret in a cause and in the stack': {
    thrown: (secret: string) =>
      withMembers(new Error('refused', { cause: new Error(`no ${secret}`) }), { stack: `at ${secret}` }),
    name: 'Error',
    message: 'refused',
    causes: ['no [redacted]'],
  },
} as const satisfies Readonly<Record<string, OddError>>

export type OddErrorName = keyof typeof ODD_ERRORS

export function oddError(name: OddErrorName): OddError {
  return ODD_ERRORS[name]
}

function chain(length: number): Error {
  let error = new Error(`cause ${length}`)
  for (let nth = length - 1; nth >= 0; nth--) error = new Error(`cause ${nth}`, { cause: error })
  return error
}

function withMembers(error: Error, members: Record<string, unknown>): Error {
  return Object.assign(error, members)
}

/** The path of the secret in the input of a task. */
export const SECRET_PATH = 'card.number'
/** A part of each line that a handler logs, by which an invariant finds what must be shown. */
export const SHOWN_FIELDS = { isPaid: false, nothing: null, count: 7, text: 'in plain sight' } as const

/** Fields of a log line that hold the secret in every form, and objects that refer to each other. */
export function oddFields(secret: string): Record<string, unknown> {
  const one: Record<string, unknown> = { card: { number: secret } }
  const two: Record<string, unknown> = { one }
  Object.assign(one, { two, again: two })
  return {
    ...SHOWN_FIELDS,
    card: { number: secret, holder: 'Ann' },
    list: [{ card: { number: secret } }, `in a text: ${secret}`],
    map: new Map([['key', secret]]),
    set: new Set([secret]),
    bytes: new TextEncoder().encode(secret),
    boxed: new String(secret),
    boxedNumber: Object(Number(secret)),
    number: Number(secret),
    error: new Error(`with ${secret}`, { cause: new Error(secret) }),
    circle: one,
  }
}
