import { dirname, resolve } from 'node:path';

import type { Placed, Plugins } from '../matrix.ts';
import { printable } from '../../text/printable.ts';
import type { MatrixModel } from './models.ts';
import type { MistakeList } from '../yaml/mistake-list.ts';
import type { MatrixFile, PluginsFile } from '../schema/schema.ts';
import type { SourcePath } from '../yaml/source-node.ts';

/** The plugins of a model: its own where it states any, else those for all. */
export function readPlugins(file: MatrixFile, model: MatrixModel, list: MistakeList): Plugins {
  return model.plugins === undefined
    ? placedPlugins(file.plugins, ['plugins'], list)
    : placedPlugins(model.plugins, [...model.path, 'plugins'], list);
}

function placedPlugins(stated: PluginsFile | undefined, path: SourcePath, list: MistakeList): Plugins {
  const placed = (kind: keyof PluginsFile): Placed<string>[] => {
    const each = stated?.[kind] ?? [];
    const libraries = [each].flat().map((library, index) => {
      const at = list.at(Array.isArray(each) ? [...path, kind, index] : [...path, kind]);
      return { value: resolve(dirname(at.file), library), at };
    });
    for (const [index, library] of libraries.entries()) {
      if (libraries.findIndex(({ value }) => value === library.value) < index) {
        list.addAt(library.at, `plugins.${kind}: ${printable(library.value)} stands there twice`);
      }
    }
    return libraries;
  };
  const plugins = { static: placed('static'), dynamic: placed('dynamic'), serialize: placed('serialize') };
  for (const { at, value } of plugins.serialize) {
    if (plugins.dynamic.some((library) => library.value === value)) continue;
    list.addAt(
      at,
      `plugins.serialize: ${printable(value)} is not among plugins.dynamic: the builder must load what the engine is to carry`,
    );
  }
  return plugins;
}
