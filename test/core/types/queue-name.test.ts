import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { queueNameOf } from '../../../shared/core/types/task-type.ts'

const type = fc.stringMatching(/^[A-Za-z0-9._-]{1,100}$/)

describe("the name of a type's queue", () => {
  it('is plain for a plain type', () => {
    expect(queueNameOf('Baton', 'resize_Image-2')).toBe('Baton-q-resize_Image-2')
  })

  it('has no dot for a type with one, and differs from the name for the type with an underscore', () => {
    const name = queueNameOf('Baton', 'image.resize')

    expect(name).toMatch(/^Baton-q-image_resize-[0-9a-f]{8}$/)
    expect(name).not.toBe(queueNameOf('Baton', 'image_resize'))
  })

  it('has at most 80 characters, and differs between two long types', () => {
    const long = 'x'.repeat(99)

    const names = [queueNameOf('Baton', `${long}a`), queueNameOf('Baton', `${long}b`)]

    expect(names.map(name => name.length)).toEqual([80, 80])
    expect(names[0]).not.toBe(names[1])
  })

  it('differs for a type that is named like the hashed name of another type', () => {
    const name = queueNameOf('Baton', 'image.resize')
    const impostor = name.slice('Baton-q-'.length)

    expect(queueNameOf('Baton', impostor)).not.toBe(name)
  })

  it('is legal for SQS, begins with the system, and differs between types', () => {
    const property = fc.property(type, type, (one, other) => {
      const name = queueNameOf('Baton', one)

      expect(name).toMatch(/^Baton-q-[A-Za-z0-9_-]{1,72}$/)
      if (one !== other) expect(queueNameOf('Baton', other)).not.toBe(name)
    })
    fc.assert(property)
  })
})
