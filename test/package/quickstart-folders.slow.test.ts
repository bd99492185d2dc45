import { describeQuickstart } from '../support/package/quickstart.ts'

describeQuickstart('by npm, from folders', { manager: 'npm', fromFolders: true })

describeQuickstart('in a workspace of npm', { manager: 'npm', inWorkspace: true })
