"""What the chapters need but no chapter is about: the running example, the map, pictures, and looks
into a model.

Importing it lets a page that runs as a script show its figures when it ends.
"""

from minitransformer_course.lab import (
    before,
    claims,
    costs,
    heads,
    korean,
    pronouns,
    recurrent,
    script,
    teaching,
    text,
    training,
    translator,
)
from minitransformer_course.lab.cache import with_a_broken_cache
from minitransformer_course.lab.example import (
    CONFIG,
    LETTERS,
    accuracy,
    attention_of,
    drawkcab,
    steps_of,
    write,
)
from minitransformer_course.lab.explorer import open_explorer
from minitransformer_course.lab.inside import (
    add_gradients,
    cross_attention_inputs,
    deep,
    gradients_of_uses,
    loss_of_weights,
    suspect_mask,
)
from minitransformer_course.lab.korean import load_korean_model, show_translation
from minitransformer_course.lab.own_functions import (
    figure_1,
    own,
    own_functions,
    run_yours,
    verdicts,
    you_are_here,
)
from minitransformer_course.lab.pictures import (
    show_counts,
    show_curves,
    show_graph,
    show_lookup,
    show_losses,
    show_map,
    show_mask,
    show_model,
    show_norm,
    show_orders,
    show_scores,
    show_split,
    show_steps,
    show_tree,
    show_uses,
)
from minitransformer_course.lab.training import AddNeighbours, Dice
