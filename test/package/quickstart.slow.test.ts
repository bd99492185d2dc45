import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { describeQuickstart } from '../support/package/quickstart.ts'

/** The quickstart by npm. Its other ways stand in files of their own, which run next to this one. */

describeQuickstart('by npm', { manager: 'npm' }, starter => {
  it('has at most 400 MB of modules, and no Node among their programs', () => {
    const megabytes = Number.parseInt(starter().succeed('du', '-sm', 'node_modules'), 10)

    expect(megabytes).toBeLessThanOrEqual(400)
    expect(starter().run('ls', 'node_modules/.bin').output).not.toMatch(/^node$/m)
  })

  it('has a client that is bundled for a browser', async () => {
    const contents = "import { createClient } from 'baton-tasks'; console.log(createClient({ url: '/' }))"

    const { metafile } = await build({
      absWorkingDir: starter().folder,
      stdin: { contents, resolveDir: starter().folder },
      bundle: true,
      write: false,
      metafile: true,
      outfile: 'out.js',
    })

    expect(Object.values(metafile.outputs)[0]?.imports).toEqual([])
  })
})
