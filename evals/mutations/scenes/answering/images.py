"""Scenes of images: transforms, samplers, parts of one folder."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, without, written
from ...scene import Scene

SCENES = (
    Scene("pictures", """
        import torch
        from torch.utils.data import DataLoader, WeightedRandomSampler
        from torchvision import datasets, transforms
        ===
        crop = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
        plain = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()])
        DATASET = datasets.ImageFolder("data/train", crop)
        HELDSET = datasets.ImageFolder("data/val", plain) #held
        targets = torch.tensor(DATASET.targets)
        rarity = 1.0 / torch.bincount(targets).float() #rarity
        SAMPLER = WeightedRandomSampler(rarity[targets], num_samples=len(DATASET)) #sampler
        DATA = DataLoader(DATASET, batch_size=64, sampler=SAMPLER, num_workers=8)
        HELD = DataLoader(HELDSET, batch_size=64, num_workers=8)
        for images, Y in DATA:
            LOSS = criterion(MODEL(images.cuda()), Y.cuda()) #forward
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("evaluation-augmented", written("held", "plain", "crop"), ("held",)),
        Defect("sampler-weighted-by-class", written("sampler", "rarity[targets]", "rarity"), ("sampler",)),
        Defect("scaled-twice", written("forward", "images.cuda()", "images.cuda() / 255.0"), ("forward",)),
    )),
    Scene("hymenoptera", """
        import os
        from collections import Counter
        import torch
        from torchvision import datasets, transforms

        class Scaled:
            def __call__(self, x):
                return (x - 0.5) / 0.5 #scaled
        ===
        steps = {
            "train": transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor(), Scaled()]), #train
            "val": transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), Scaled()]), #val
        }
        sets = {part: datasets.ImageFolder(os.path.join("hymenoptera", part), steps[part]) for part in ("train", "val")} #sets
        counts = Counter(sets["train"].targets)
        weights = [1 / counts[t] for t in sets["train"].targets] #weights
        SAMPLER = torch.utils.data.WeightedRandomSampler(weights, len(weights)) #sampler
        loaders = {part: torch.utils.data.DataLoader(sets[part], batch_size=4, sampler=SAMPLER if part == "train" else None) for part in sets}
    """, (
        Defect("evaluation-augmented", written("val", "transforms.Resize(256), transforms.CenterCrop(224)", "transforms.RandomResizedCrop(224), transforms.ColorJitter(0.2)"), ("val",)),
        Defect("evaluation-augmented", written("sets", "steps[part]", 'steps["train"]'), ("sets",)),
        Defect("sampler-weighted-by-class", all_of(written("weights", '1 / counts[t] for t in sets["train"].targets', "1 / counts[c] for c in sorted(counts)"), written("sampler", "len(weights)", 'len(sets["train"])')), ("sampler", "weights")),
        Defect("scaled-twice", written("scaled", "(x - 0.5) / 0.5", "(x / 255.0 - 0.5) / 0.5"), ("scaled",)),
    )),
    Scene("pets", """
        import torch
        from torch.utils.data import DataLoader, Subset, random_split
        from torchvision.datasets import ImageFolder
        ===
        whole = ImageFolder("pets") #whole
        train_part, val_part = random_split(range(len(whole)), [0.9, 0.1], generator=torch.Generator().manual_seed(0)) #split
        train_set = Subset(ImageFolder("pets", transform=augmenting), list(train_part)) #train
        val_set = Subset(ImageFolder("pets", transform=plain), list(val_part)) #val
        DATA = DataLoader(train_set, batch_size=32, shuffle=True)
        HELD = DataLoader(val_set, batch_size=32)
    """, (
        Defect("splits-share-a-dataset", all_of(
            written("whole", 'ImageFolder("pets")', 'ImageFolder("pets", transform=augmenting)'), written("split", "train_part, val_part = random_split(range(len(whole))", "train_set, val_set = random_split(whole"),
            without("train"), written("val", 'val_set = Subset(ImageFolder("pets", transform=plain), list(val_part))', "val_set.dataset.transform = plain")), ("val", "split")),
        Defect("splits-share-a-dataset", all_of(
            written("train", 'Subset(ImageFolder("pets", transform=augmenting), list(train_part))', "Subset(whole, list(train_part))"),
            written("val", 'Subset(ImageFolder("pets", transform=plain), list(val_part))', "Subset(whole, list(val_part))"),
            lambda lines: [y for x in lines for y in ([x, x[: len(x) - len(x.lstrip())] + "for part, transform in ((train_set, augmenting), (val_set, plain)):", x[: len(x) - len(x.lstrip())] + "    part.dataset.transform = transform #set"] if x.endswith("#val") else [x])]), ("set",)),
    )),
)  # fmt: skip
