"""Scores of a reader on the dev set during training."""

from accelerate import Accelerator
from accelerate.utils import gather_object

from fabir.answer.files import no_answer_probabilities, predictions
from fabir.answer.predictor import Predictor
from fabir.data.dataset import Dataset
from fabir.evaluation.squad import evaluate
from fabir.runtime.torch_model import TorchModel


def dev_scores(model: TorchModel, dev: Dataset, accelerator: Accelerator) -> dict[str, float | int]:
    """F1 and EM on `dev`, in percent; every process answers its share.

    If the reader may say that there is no answer, its threshold is set to that with the highest F1.
    """
    questions = list(dev.questions)
    rank, world = accelerator.process_index, accelerator.num_processes
    share = questions[len(questions) * rank // world : len(questions) * (rank + 1) // world]
    pairs = [(question.text, passage.text) for passage, question in share]
    readings = Predictor(model).read_all(pairs)
    found = {q.id: reading for (_, q), reading in zip(share, readings, strict=True)}
    if world > 1:
        found = dict(gather_object(list(found.items())))
    texts = predictions(found)
    if not (dev.has_unanswerable and model.tells_no_answer):
        return evaluate(dev, texts)
    chances = no_answer_probabilities(found)
    threshold = evaluate(dev, texts, chances)["best_f1_thresh"]
    # Halfway to the next probability, so that rounding changes no answer.
    above = min((chance for chance in chances.values() if chance > threshold), default=1.0)
    model.no_answer_threshold = (threshold + above) / 2
    return evaluate(dev, texts, chances, model.no_answer_threshold)
