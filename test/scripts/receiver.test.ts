import { expect, it } from 'vitest'
import { startReceiver } from '../../scripts/demonstration/http-worker.ts'

it('the receiver of the demonstration takes nothing, and outlives nonsense, from a page that does not know its path', async () => {
  const receiver = await startReceiver()
  const { origin } = new URL(receiver.url)
  const post = (url: string, body: string) =>
    fetch(url, { method: 'POST', body }).then(({ status }) => status)

  expect(await post(`${origin}/hook`, '{"key":"a"}')).toBe(404)
  expect(await post(`${origin}/hook`, 'nonsense')).toBe(404)
  expect(receiver.deliveries('a')).toBe(0)
  expect(await post(`${receiver.url}/hook`, '{"key":"a"}')).toBe(200)
  expect(receiver.deliveries('a')).toBe(1)
  await receiver.stop()
})
