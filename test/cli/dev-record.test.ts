import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { leaveDevRecord, readDevRecord } from '../../cli/dev/command/dev-record.ts'

const folder = join(tmpdir(), `baton-${process.getuid?.()}`)

it('a worker finds a running system by any name of its address, until the system has ended', () => {
  const record = { pid: process.pid, url: 'http://127.0.0.1:59871', environment: { BATON_TABLE: 't' } }

  const forget = leaveDevRecord(record)

  expect(readDevRecord('http://localhost:59871/')).toEqual(record)
  expect(readDevRecord('http://127.0.0.1:59872')).toBeUndefined()
  forget()
  expect(readDevRecord(record.url)).toBeUndefined()
  expect(readdirSync(folder)).not.toContain('dev-59871.json')
})

it('a system on another host is not taken for the one on this machine', () => {
  const forget = leaveDevRecord({ pid: process.pid, url: 'http://127.0.0.1:59875', environment: {} })

  const found = (host: string) => readDevRecord(`http://${host}:59875`) !== undefined

  expect(['127.0.0.1', '127.0.0.2', '[::1]', 'localhost', 'shop.localhost'].filter(found)).toHaveLength(5)
  expect(['other-host', '10.0.0.7', 'localhost.example.com', '127.0.0.1.example.com'].filter(found)).toEqual(
    [],
  )
  forget()
})

it('only the user can read the key of the system', () => {
  const forget = leaveDevRecord({ pid: process.pid, url: 'http://127.0.0.1:59873', environment: {} })

  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'dev-59873.json')).mode & 0o777).toBe(0o600)
  forget()
})

it('a system that was killed is not found', () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  const forget = leaveDevRecord({ pid, url: 'http://127.0.0.1:59874', environment: {} })

  expect(readDevRecord('http://127.0.0.1:59874')).toBeUndefined()
  forget()
})
